import { join } from 'node:path';
import { beforeAll, expect, it, onTestFinished } from 'vitest';
import type { Kernel } from '../../src/index.js';
import { compilePrograms } from '../support/crash/compile-programs.js';
import { Program } from '../support/crash/program.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, openKernel } from '../support/kernel.js';
import { findInconsistencies } from '../support/store-consistency.js';

let programs = '';
beforeAll(async () => {
  programs = await compilePrograms();
});

interface Spent {
  readonly accepted: number;
  readonly refused: Readonly<Record<string, number>>;
}

/** Three node programs that spend at the same time. */
class Spenders {
  private constructor(
    readonly kernel: Kernel,
    readonly store: string,
    private readonly nodes: readonly Program[],
  ) {}

  static async start(): Promise<Spenders> {
    const store = await newStore();
    const kernel = await openKernel({ store, node: { executor: false } });
    const nodes = [1, 2, 3].map(() => new Program(join(programs, 'spender.js'), store));
    for (const node of nodes) onTestFinished(() => node.kill());
    for (const node of nodes) await node.waitForLine((line) => line === 'open');
    return new Spenders(kernel, store, nodes);
  }

  /** Has each node make `count` calls of a kind; `pidOf` gives the process for each. Answers with the sums over all nodes. */
  async spend(kind: string, pidOf: (node: number) => string, count: number): Promise<Spent> {
    const answers = await Promise.all(
      this.nodes.map(async (node, index) => {
        const known = node.lines.length;
        node.send(`${kind} ${pidOf(index)} ${count}`);
        const line = await node.waitForLine(
          (text) => text.startsWith(`${kind} `) && node.lines.indexOf(text, known) >= known,
        );
        return JSON.parse(line.slice(kind.length)) as Spent;
      }),
    );
    const refused: Record<string, number> = {};
    for (const [code, times] of answers.flatMap((one) => Object.entries(one.refused))) {
      refused[code] = (refused[code] ?? 0) + times;
    }
    return { accepted: answers.reduce((sum, one) => sum + one.accepted, 0), refused };
  }

  /** Resolves when every node has made a call of the kind. */
  async allHaveMade(kind: string): Promise<void> {
    for (const node of this.nodes) await node.waitForLine((line) => line === `made ${kind}`);
  }
}

it('three node programs spend exactly the budget of a process above theirs', async () => {
  const nodes = await Spenders.start();
  const { processes } = nodes.kernel;
  const root = await processes.spawn({ budget: { tokens: 100, costMicros: 50 } });
  const children = await Promise.all([1, 2, 3].map(() => processes.spawnChild(root, {})));
  const pidOf = (node: number) => children[node] ?? root;
  expect(await nodes.spend('charge', pidOf, 50)).toEqual({ accepted: 100, refused: { BUDGET_EXCEEDED: 50 } });
  const settled = await nodes.spend('settle', pidOf, 20);
  const { tokens, costMicros } = await processes.budget(root);
  expect(tokens).toMatchObject({ used: 100, left: 0, overrun: 0 });
  // Who finds less left than a reservation takes is refused, also while others hold more than they will settle.
  expect(costMicros).toMatchObject({ used: 2 * settled.accepted, reserved: 0, overrun: 0 });
  expect(settled.refused).toEqual({ BUDGET_EXCEEDED: 60 - settled.accepted });
  const used = await Promise.all(children.map(async (child) => (await processes.get(child)).used));
  expect(used.reduce((sum, { tokens: spent = 0 }) => sum + spent, 0)).toBe(100);
  expect(used.reduce((sum, { costMicros: spent = 0 }) => sum + spent, 0)).toBe(2 * settled.accepted);
  await checkInvariants(nodes.kernel, nodes.store);
  expect(await findInconsistencies(nodes.kernel)).toEqual([]);
});

it('three node programs spawn exactly as many children as there are places', async () => {
  const nodes = await Spenders.start();
  const root = await nodes.kernel.processes.spawn({ budget: { children: 25 } });
  expect(await nodes.spend('spawn', () => root, 20)).toEqual({ accepted: 25, refused: { BUDGET_EXCEEDED: 35 } });
  expect(await nodes.kernel.processes.children(root, { limit: 1_000 })).toHaveLength(25);
  expect((await nodes.kernel.processes.budget(root)).children).toMatchObject({ used: 25, left: 0 });
  expect(await findInconsistencies(nodes.kernel)).toEqual([]);
});

it('three node programs take exactly the uses of a capability that all of theirs come from', async () => {
  const nodes = await Spenders.start();
  const { processes, capabilities } = nodes.kernel;
  const spec = { resource: 'tool:search', rights: ['call' as const] };
  const giver = await processes.spawn({ capabilities: [{ ...spec, delegable: true, uses: 60 }] });
  const takers = await Promise.all([1, 2, 3].map(() => processes.spawn({})));
  for (const taker of takers) await capabilities.delegate(giver, taker, spec);
  const pidOf = (node: number) => takers[node] ?? giver;
  expect(await nodes.spend('require', pidOf, 30)).toEqual({ accepted: 60, refused: { SPENT: 30 } });
  const [held] = (await capabilities.list(giver, { status: 'any' })).filter(
    ({ resource }) => resource === 'tool:search',
  );
  expect(held).toMatchObject({ uses: 0, status: 'spent' });
  await checkInvariants(nodes.kernel, nodes.store);
});

it('a capability that is revoked while three node programs use it is used no more by any, and every use is counted', async () => {
  const nodes = await Spenders.start();
  const { processes, capabilities } = nodes.kernel;
  const spec = { resource: 'tool:search', rights: ['call' as const] };
  const uses = 1_000_000;
  const giver = await processes.spawn({ capabilities: [{ ...spec, delegable: true, uses }] });
  const takers = await Promise.all([1, 2, 3].map(() => processes.spawn({})));
  for (const taker of takers) await capabilities.delegate(giver, taker, spec);
  const pidOf = (node: number) => takers[node] ?? giver;
  const source = (await capabilities.list(giver)).find(({ resource }) => resource === 'tool:search');
  const spending = nodes.spend('require', pidOf, 150);
  await nodes.allHaveMade('require');
  await capabilities.revoke(source?.id ?? '');
  const { accepted, refused } = await spending;
  expect(accepted).toBeGreaterThan(0);
  expect(refused).toEqual({ REVOKED: 450 - accepted });
  // Who asks from now on is refused, on whichever node.
  expect(await nodes.spend('require', pidOf, 20)).toEqual({ accepted: 0, refused: { REVOKED: 60 } });
  expect(await capabilities.get(source?.id ?? '')).toMatchObject({ status: 'revoked', uses: uses - accepted });
  await checkInvariants(nodes.kernel, nodes.store);
});
