import { describe, expect, it } from 'vitest';
import { defineImage, defineTool, type Kernel, type Pid } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { openKernel, refusal } from '../support/kernel.js';
import { kernelFixture } from '../support/kernel-fixture.js';

/** The bytes of `value` as JSON. */
const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));
const text = (length: number) => 'x'.repeat(length);

async function storedBy(kernel: Kernel, pid: Pid): Promise<number> {
  return (await kernel.processes.budget(pid)).storedBytes.used;
}

describe('storedBytes', () => {
  it('counts what a process creates, updates and sends, in every account above it', async () => {
    const { kernel, path } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const child = await kernel.processes.spawnChild(root, {});
    expect(await storedBy(kernel, root)).toBe(0);
    const [first, second, message] = [{ a: text(100) }, { a: 'ü' }, { body: text(50) }];
    const face = kernel.as(child);
    const object = await face.memory.create({ type: 'observation', payload: first, immutable: false });
    await face.memory.update(object, second);
    await face.send(root, message);
    const stored = bytesOf(first) + bytesOf(second) + bytesOf(message);
    expect([await storedBy(kernel, child), await storedBy(kernel, root)]).toEqual([stored, stored]);
    await checkInvariants(kernel, path);
  });

  it('refuses what a process asks to store beyond the limit of one above it, and changes nothing', async () => {
    const { kernel, refused, path } = await kernelFixture();
    const root = await kernel.processes.spawn({ budget: { storedBytes: 100 } });
    const child = await kernel.processes.spawnChild(root, { image: 'worker' });
    const face = kernel.as(child);
    const object = await face.memory.create({ type: 'observation', payload: text(58), immutable: false });
    const calls = [
      () => face.memory.create({ type: 'observation', payload: text(39) }),
      () => face.memory.update(object, text(39)),
      () => face.send(root, text(39)),
      () => face.spawnChild({ goal: { text: text(60) } }),
      () => face.fork({ args: { text: text(60) } }),
      () => face.exec({ image: 'worker', goal: text(60) }),
    ];
    for (const call of calls) {
      expect(await refused(call)).toMatchObject({
        code: 'BUDGET_EXCEEDED',
        facts: { dimension: 'storedBytes', process: root, limit: 100, used: 60 },
      });
    }
    await face.memory.create({ type: 'observation', payload: text(38) });
    expect((await kernel.processes.budget(child)).storedBytes).toMatchObject({ left: 0, boundBy: root });
    await face.spawnChild({});
    await checkInvariants(kernel, path);
  });

  it('counts the goal and the arguments of a child for the child', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const [goal, args] = [{ text: 'find it' }, { depth: 3 }];
    const child = await kernel.processes.spawnChild(root, { goal, args });
    const stored = bytesOf(goal) + bytesOf(args);
    expect([await storedBy(kernel, child), await storedBy(kernel, root)]).toEqual([stored, stored]);
  });

  it('never refuses the outcome of a tool, the answer of a step or a result; the next call is refused', async () => {
    const big = text(500);
    const echo = defineTool({
      name: 'echo',
      description: 'Echoes',
      input: { type: 'object' },
      effect: 'pure',
      run: async () => big,
    });
    const body = defineImage({
      name: 'storing',
      run: async (ctx) => {
        const answer = await ctx.tools.call('echo', {});
        await ctx.step('measure', () => big);
        const { code } = await refusal(ctx.memory.create({ type: 'observation', payload: 1 }));
        return { answer, code };
      },
    });
    const kernel = await openKernel({ images: [body], tools: [echo] });
    const pid = await kernel.processes.spawn({
      image: 'storing',
      budget: { storedBytes: 100 },
      capabilities: [{ resource: 'tool:echo', rights: ['call'] }],
    });
    const { status, value, usage } = await kernel.processes.result(pid);
    expect([status, value]).toEqual(['exited', { answer: big, code: 'BUDGET_EXCEEDED' }]);
    const stored = bytesOf(big) + bytesOf({ value: big }) + bytesOf(value);
    expect(usage.storedBytes).toBe(stored);
    expect((await kernel.processes.budget(pid)).storedBytes).toMatchObject({ overrun: stored - 100 });
  });

  it('is given back by sweep for what is no longer stored', async () => {
    const { kernel, path } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const child = await kernel.processes.spawnChild(root, {});
    const face = kernel.as(child);
    const [small, large, next] = [{ a: text(100) }, { b: text(5_000) }, { b: text(3_000) }];
    const kept = await face.memory.create({ type: 'observation', payload: small });
    const dropped = await face.memory.create({ type: 'observation', payload: large, immutable: false });
    await face.memory.update(dropped, next);
    await kernel.memory.sweep();
    expect(await storedBy(kernel, root)).toBe(bytesOf(small) + bytesOf(large) + bytesOf(next));
    await face.memory.delete(dropped);
    await kernel.memory.sweep();
    expect([await storedBy(kernel, child), await storedBy(kernel, root)]).toEqual([bytesOf(small), bytesOf(small)]);
    await kernel.memory.sweep();
    expect(await storedBy(kernel, root)).toBe(bytesOf(small));
    expect(await face.memory.read(kept)).toMatchObject({ payload: small });
    await checkInvariants(kernel, path);
  });

  it('is given back by prune for everything that an ended process has stored', async () => {
    const { kernel, path } = await kernelFixture();
    const root = await kernel.processes.spawn({ budget: { storedBytes: 1_000 } });
    const child = await kernel.processes.spawnChild(root, { goal: 'find it' });
    const grandchild = await kernel.processes.spawnChild(child, {});
    await kernel.memory.create(root, { type: 'observation', payload: text(10) });
    await kernel.memory.create(child, { type: 'observation', payload: text(300) });
    await kernel.memory.create(grandchild, { type: 'observation', payload: text(600) });
    expect((await refusal(kernel.memory.create(root, { type: 'observation', payload: text(100) }))).code).toBe(
      'BUDGET_EXCEEDED',
    );
    await kernel.processes.kill(child);
    await kernel.processes.spawn({});
    const { pruned } = await kernel.processes.prune({ endedBefore: Number.MAX_SAFE_INTEGER });
    expect(pruned).toBe(2);
    expect(await storedBy(kernel, root)).toBe(bytesOf(text(10)));
    await kernel.memory.sweep();
    expect(await storedBy(kernel, root)).toBe(bytesOf(text(10)));
    await kernel.memory.create(root, { type: 'observation', payload: text(900) });
    await checkInvariants(kernel, path);
  });
});
