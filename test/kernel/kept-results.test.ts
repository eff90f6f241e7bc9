import { describe, expect, it } from 'vitest';
import { defineImage, type Kernel, type Pid } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, openKernel } from '../support/kernel.js';
import { kernelFixture } from '../support/kernel-fixture.js';

/** Ended children of `parent` with a result each. */
async function spawnEnded(kernel: Kernel, parent: Pid, findings: readonly string[]): Promise<Pid[]> {
  const pids: Pid[] = [];
  for (const found of findings) {
    const pid = await kernel.processes.spawnChild(parent, { image: 'base' });
    await kernel.processes.complete(pid, { found });
    pids.push(pid);
  }
  return pids;
}

async function contextOf(kernel: Kernel, pid: Pid): Promise<string> {
  return (await kernel.memory.materialize(pid, { tokensMax: 10_000 })).text;
}

async function viewOf(kernel: Kernel, pid: Pid): Promise<string[]> {
  return (await kernel.memory.view(pid)).roots.map(({ id }) => id);
}

describe('the result of a child that was waited for', () => {
  it('is in the view of its parent, so that the next context shows it', async () => {
    const { kernel, path } = await kernelFixture();
    const parent = await kernel.processes.spawn({ goal: 'Find three sources' });
    const [child] = await spawnEnded(kernel, parent, ['a tide table']);
    expect(await contextOf(kernel, parent)).not.toContain('a tide table');
    const { result } = await kernel.as(parent).wait(child ?? '');
    expect(await viewOf(kernel, parent)).toContain(result?.id);
    expect(await contextOf(kernel, parent)).toContain('a tide table');
    await checkInvariants(kernel, path);
  });

  it('is there after waitAny and waitAll too, and after a wait of the host for the parent', async () => {
    const { kernel } = await kernelFixture();
    const parent = await kernel.processes.spawn({});
    const [one, two, three, four] = await spawnEnded(kernel, parent, ['one', 'two', 'three', 'four']);
    await kernel.as(parent).waitAny([one ?? '']);
    await kernel.as(parent).waitAll([two ?? '', three ?? '']);
    await kernel.processes.wait(parent, four ?? '');
    const context = await contextOf(kernel, parent);
    for (const found of ['one', 'two', 'three', 'four']) expect(context).toContain(`"${found}"`);
  });

  it('is there after a restart, for forks too', async () => {
    const store = await newStore();
    const first = await openKernel({ store, node: { executor: false } });
    const parent = await first.processes.spawn({});
    const [child] = await spawnEnded(first, parent, ['kept']);
    await first.processes.wait(parent, child ?? '');
    await first.shutdown();
    const kernel = await openKernel({ store, node: { executor: false } });
    expect(await contextOf(kernel, parent)).toContain('kept');
    expect(await contextOf(kernel, await kernel.processes.fork(parent))).toContain('kept');
  });

  it('is not there with keep: false, nor by result() of the host', async () => {
    const { kernel } = await kernelFixture();
    const parent = await kernel.processes.spawn({});
    const [one, two, three] = await spawnEnded(kernel, parent, ['one', 'two', 'three']);
    const before = await viewOf(kernel, parent);
    const { result, value } = await kernel.as(parent).wait(one ?? '', { keep: false });
    expect(value).toEqual({ found: 'one' });
    await kernel.processes.waitAny(parent, [two ?? ''], { keep: false });
    await kernel.as(parent).waitAll([one ?? '', two ?? ''], { keep: false });
    await kernel.processes.result(three ?? '');
    expect(await viewOf(kernel, parent)).toEqual(before);
    await kernel.as(parent).wait(one ?? '');
    expect(await viewOf(kernel, parent)).toEqual([...before, result?.id].sort());
  });

  it('is one entry and one event, however often it is waited for', async () => {
    const { kernel } = await kernelFixture();
    const parent = await kernel.processes.spawn({});
    const [child] = await spawnEnded(kernel, parent, ['once']);
    const { result } = await kernel.as(parent).wait(child ?? '');
    await kernel.as(parent).wait(child ?? '');
    const { items } = await kernel.events.list({ types: ['view.changed'] });
    expect(items.map(({ pid, data }) => [pid, data])).toEqual([[parent, { object: result?.id, isThere: true }]]);
    const added = await kernel.audit.list({ action: 'memory.addToView' });
    expect(added.items.map(({ actor, target, facts }) => [actor, target, facts])).toEqual([
      [parent, parent, { object: result?.id }],
    ]);
  });

  it('is left out where there is none, and where the parent may not read it', async () => {
    const { kernel } = await kernelFixture();
    const parent = await kernel.processes.spawn({});
    const silent = await kernel.processes.spawnChild(parent);
    await kernel.processes.exit(silent);
    const [hidden] = await spawnEnded(kernel, parent, ['hidden']);
    await kernel.capabilities.deny(parent, { resource: `ns:process/${hidden}/**`, rights: ['read'] });
    const before = await viewOf(kernel, parent);
    await kernel.as(parent).waitAll([silent, hidden ?? '']);
    expect(await viewOf(kernel, parent)).toEqual(before);
  });

  it('refuses a keep that is no boolean', async () => {
    const { kernel, refused } = await kernelFixture();
    const parent = await kernel.processes.spawn({});
    const [child] = await spawnEnded(kernel, parent, ['x']);
    const call = () => kernel.as(parent).wait(child ?? '', { keep: 'no' } as never);
    expect(await refused(call)).toMatchObject({ code: 'INVALID_INPUT', facts: { path: 'options.keep' } });
  });
});

describe('a body that is run again', () => {
  it('gets its answers from the journal, which adds nothing to its view', async () => {
    const views: string[][] = [];
    const lead = defineImage({
      name: 'lead',
      retry: { attempts: 2, baseMs: 1 },
      run: async (ctx) => {
        const one = await ctx.spawnChild({ image: 'finder', args: { found: 'one' } });
        const two = await ctx.spawnChild({ image: 'finder', args: { found: 'two' } });
        const three = await ctx.spawnChild({ image: 'finder', args: { found: 'three' } });
        const results = [await ctx.wait(one), await ctx.waitAny([two]), ...(await ctx.waitAll([three]))];
        for (const { result } of results) await ctx.memory.removeFromView(result?.id ?? '');
        views.push((await ctx.memory.view()).roots.map(({ id }) => id));
        if (ctx.attempt === 1) throw new Error('again');
        return results.map(({ value }) => value ?? null);
      },
    });
    const finder = defineImage({ name: 'finder', run: async (_ctx, args) => args });
    const kernel = await openKernel({ images: [lead, finder] });
    const pid = await kernel.processes.spawn({ image: 'lead' });
    const { value } = await kernel.processes.result(pid);
    expect(value).toEqual([{ found: 'one' }, { found: 'two' }, { found: 'three' }]);
    expect(views).toEqual([[(await kernel.processes.get(pid)).goal], [(await kernel.processes.get(pid)).goal]]);
  });
});
