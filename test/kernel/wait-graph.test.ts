import { describe, expect, it } from 'vitest';
import { Store } from '../../src/base/store.js';
import type { Pid } from '../../src/index.js';
import { WaitGraph } from '../../src/kernel/waiting/wait-graph.js';
import type { WaitReason } from '../../src/unit/caller.js';
import { refusal } from '../support/kernel.js';
import { type KernelFixture, kernelFixture } from '../support/kernel-fixture.js';

interface WaitGraphFixture extends KernelFixture {
  readonly pids: [Pid, Pid, Pid];
  /** Makes a row wait, as a run on another node would. */
  waits(
    pid: Pid,
    on: readonly string[],
    more?: { deadline?: number; status?: string; previous?: string },
  ): Promise<void>;
  /** The code and the facts with which blocking is refused, or `free`. */
  block(pid: Pid, on: readonly string[], deadline?: number): Promise<unknown>;
}

async function waitGraphFixture(): Promise<WaitGraphFixture> {
  const place = await kernelFixture();
  const { kernel, edit } = place;
  const pids = await Promise.all([1, 2, 3].map(() => kernel.processes.spawn({ image: 'worker' })));
  return {
    ...place,
    pids: pids as [Pid, Pid, Pid],
    async waits(pid, on, { deadline, status = 'waiting', previous } = {}) {
      const wait = { kind: 'message', what: '', since: 1, on, ...(deadline === undefined ? {} : { deadline }) };
      await edit(pid, { status, previous: previous ?? null, wait: JSON.stringify(wait) });
    },
    async block(pid, on, deadline) {
      const reason: WaitReason = { kind: 'message', what: '', on, ...(deadline === undefined ? {} : { deadline }) };
      const graph = kernel.container.get(WaitGraph);
      const asked = kernel.container.get<Store>(Store).read((tx) => graph.assertNoCycle(tx, pid, reason));
      return asked.then(
        () => 'free',
        () => refusal(asked),
      );
    },
  };
}

describe('the wait graph', () => {
  it('refuses to close a circle of processes that wait for each other, and names it in order', async () => {
    const { pids, waits, block } = await waitGraphFixture();
    const [a, b, c] = pids;
    await waits(b, [`child:${c}`]);
    await waits(c, [`message:${a}`]);
    expect(await block(a, [`message:${b}`])).toEqual({ code: 'WAIT_CYCLE', facts: { pid: a, cycle: [a, b, c] } });
    expect(await block(a, [`child:${b}`])).toMatchObject({ code: 'WAIT_CYCLE' });
  });

  it('refuses a process that waits for a message of its own', async () => {
    const { pids, block } = await waitGraphFixture();
    const [a] = pids;
    expect(await block(a, [`message:${a}`])).toEqual({ code: 'WAIT_CYCLE', facts: { pid: a, cycle: [a] } });
  });

  it('counts a process that is paused over its wait', async () => {
    const { pids, waits, block } = await waitGraphFixture();
    const [a, b] = pids;
    await waits(b, [`message:${a}`], { status: 'paused', previous: 'waiting' });
    expect(await block(a, [`message:${b}`])).toMatchObject({ facts: { cycle: [a, b] } });
    await waits(b, [`message:${a}`], { status: 'paused', previous: 'runnable' });
    expect(await block(a, [`message:${b}`])).toBe('free');
  });

  it('lets a chain pass that ends', async () => {
    const { pids, waits, block } = await waitGraphFixture();
    const [a, b, c] = pids;
    await waits(b, [`message:${c}`]);
    expect(await block(a, [`message:${b}`])).toBe('free');
    expect(await block(a, ['message:p_none'])).toBe('free');
    expect(await block(a, [`child:${c}`])).toBe('free');
  });

  it('lets whoever has a deadline, waits for anybody, for one of several, or for something else pass', async () => {
    const { pids, waits, block } = await waitGraphFixture();
    const [a, b, c] = pids;
    await waits(b, [`message:${a}`], { deadline: 9e12 });
    expect(await block(a, [`message:${b}`])).toBe('free');
    await waits(b, [`message:${a}`, `message:${c}`]);
    expect(await block(a, [`message:${b}`])).toBe('free');
    await waits(b, ['message:*']);
    expect(await block(a, [`message:${b}`])).toBe('free');
    await waits(b, [`signal:${a}`]);
    expect(await block(a, [`message:${b}`])).toBe('free');
    await waits(b, [`message:${a}`]);
    expect(await block(a, [`message:${b}`], 9e12)).toBe('free');
    expect(await block(a, ['message:*'])).toBe('free');
    expect(await block(a, [`message:${b}`, `message:${c}`])).toBe('free');
    expect(await block(a, ['signal:user.x'])).toBe('free');
    expect(await block(a, [`message:${b}`])).toMatchObject({ code: 'WAIT_CYCLE' });
  });

  it('lets a process pass that only leads into a circle of others, and comes to an end', async () => {
    const { pids, waits, block } = await waitGraphFixture();
    const [a, b, c] = pids;
    await waits(b, [`message:${c}`]);
    await waits(c, [`message:${b}`]);
    expect(await block(a, [`message:${b}`])).toBe('free');
  });

  it('follows a long chain', async () => {
    const { kernel, waits, block } = await waitGraphFixture();
    const chain: Pid[] = [];
    for (let n = 0; n < 300; n++) chain.push(await kernel.processes.spawn({ image: 'worker' }));
    for (const [n, pid] of chain.entries()) if (n > 0) await waits(pid, [`message:${chain[(n + 1) % chain.length]}`]);
    const [first = '', second = ''] = chain;
    expect(await block(first, [`message:${second}`])).toMatchObject({ facts: { cycle: chain } });
  });
});
