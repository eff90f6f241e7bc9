import { expect } from 'vitest';
import type { Kernel, Pid } from '../../../src/index.js';
import { attempt } from '../attempt.js';
import type { manualClock } from '../kernel-fixture.js';

/** Processes that each hold one capability, drawn from that of another one; and what has befallen them. */
export class CapabilityTree {
  private readonly nodes: {
    pid: Pid;
    id: string;
    above: number | null;
    uses: number | null;
    until: number;
    dead: boolean;
  }[] = [];

  constructor(
    private readonly kernel: Kernel,
    private readonly clock: ReturnType<typeof manualClock>,
  ) {}

  async add(above: number | null, limit: string): Promise<void> {
    const { processes, capabilities } = this.kernel;
    const parent = above === null ? undefined : this.nodes[above];
    const pid = await processes.spawn({ image: 'worker' });
    const until = Math.min(
      limit === 'expiry' ? this.clock.now() + 1 : Number.MAX_SAFE_INTEGER,
      parent?.until ?? Number.MAX_SAFE_INTEGER,
    );
    const spec = {
      resource: 'tool:a',
      rights: ['call'],
      delegable: true,
      ...(limit === 'uses' ? { uses: 1 } : {}),
      ...(limit === 'expiry' ? { expiresAt: until } : {}),
    } as const;
    const given =
      parent === undefined
        ? await capabilities.grant(pid, spec)
        : await capabilities.delegate(parent.pid, pid, { ...spec, from: parent.id });
    this.nodes.push({ pid, id: given.id, above, uses: given.uses ?? null, until, dead: false });
  }

  async kill(index: number, how: string): Promise<void> {
    const node = this.nodes[index % this.nodes.length];
    if (node === undefined) return;
    if (how === 'expire') this.clock.advance(1);
    if (how === 'spend') return this.use(node);
    if (how === 'revoke') await this.kernel.capabilities.revoke(node.id);
    if (how === 'exit') await attempt(this.kernel.processes.exit(node.pid));
    if (how === 'exec') await attempt(this.kernel.processes.exec(node.pid, { image: 'worker' }));
    if (how !== 'expire') node.dead = true;
  }

  expectedLive(): boolean[] {
    return this.nodes.map((node) =>
      this.chain(node).every(({ dead, uses: left, until }) => !dead && left !== 0 && this.clock.now() < until),
    );
  }

  async actuallyLive(kernel: Kernel): Promise<boolean[]> {
    return Promise.all(
      this.nodes.map(async ({ pid, id }) => {
        const { effect } = await kernel.capabilities.check(pid, 'call', 'tool:a');
        const { status } = await kernel.capabilities.get(id);
        expect(status === 'live').toBe(effect === 'allow');
        return effect === 'allow';
      }),
    );
  }

  private async use(node: CapabilityTree['nodes'][number]): Promise<void> {
    if ((await attempt(this.kernel.capabilities.require(node.pid, 'call', 'tool:a'))) === undefined) return;
    for (const one of this.chain(node)) if (one.uses !== null) one.uses--;
  }

  private chain(node: CapabilityTree['nodes'][number]): CapabilityTree['nodes'][number][] {
    const parent = node.above === null ? undefined : this.nodes[node.above];
    return parent === undefined ? [node] : [node, ...this.chain(parent)];
  }
}
