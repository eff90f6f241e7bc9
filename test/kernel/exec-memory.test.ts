import { describe, expect, it } from 'vitest';
import { externalImage, type Kernel, type ObjectId, type Pid } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, openKernel } from '../support/kernel.js';
import { type KernelFixture, kernelFixture } from '../support/kernel-fixture.js';

const planner = externalImage({ name: 'planner' });

function plannerFixture(): Promise<KernelFixture> {
  return kernelFixture({ images: [planner] });
}

async function contextOf(kernel: Kernel, pid: Pid): Promise<string> {
  return (await kernel.memory.materialize(pid, { tokensMax: 10_000 })).text;
}

async function viewOf(kernel: Kernel, pid: Pid): Promise<ObjectId[]> {
  return (await kernel.memory.view(pid)).roots.map(({ id }) => id);
}

async function goalOf(kernel: Kernel, pid: Pid): Promise<ObjectId> {
  return (await kernel.processes.get(pid)).goal;
}

/** The result of a child of `pid` that has ended, which `pid` has waited for. */
async function collectResult(kernel: Kernel, pid: Pid, found: string): Promise<ObjectId> {
  const child = await kernel.processes.spawnChild(pid, { image: 'base' });
  await kernel.processes.complete(child, { found });
  return (await kernel.processes.wait(pid, child)).result?.id ?? '';
}

describe('exec with a new goal', () => {
  it('puts the new goal into the view and takes the old one out of it', async () => {
    const { kernel, path } = await plannerFixture();
    const pid = await kernel.processes.spawn({ goal: 'the first' });
    const first = await goalOf(kernel, pid);
    await kernel.processes.exec(pid, { image: 'planner', goal: 'the second' });
    expect(await viewOf(kernel, pid)).toEqual([await goalOf(kernel, pid)]);
    const { text, manifest } = await kernel.memory.materialize(pid, { tokensMax: 1_000 });
    expect([text.includes('the second'), text.includes('the first'), manifest.length]).toEqual([true, false, 1]);
    expect((await kernel.memory.query(pid)).items.map(({ payload }) => payload)).toEqual([{ text: 'the second' }]);
    const fork = await kernel.processes.fork(pid, { goal: 'of the fork' });
    expect(await viewOf(kernel, fork)).not.toContain(first);
    expect(await contextOf(kernel, fork)).toContain('the second');
    await checkInvariants(kernel, path);
  });

  it('removes the old goal for good: neither the next exec nor a restart brings it back', async () => {
    const store = await newStore();
    const before = await openKernel({ store, images: [planner], node: { executor: false } });
    const pid = await before.processes.spawn({ goal: 'the first' });
    await before.processes.exec(pid, { image: 'planner', goal: 'the second' });
    await before.processes.exec(pid, { image: 'base' });
    expect(await contextOf(before, pid)).toContain('the second');
    await before.processes.exec(pid, { image: 'planner', goal: 'the third' });
    await before.shutdown();
    const kernel = await openKernel({ store, images: [planner], node: { executor: false } });
    expect(await viewOf(kernel, pid)).toEqual([await goalOf(kernel, pid)]);
    const context = await contextOf(kernel, pid);
    expect(['first', 'second', 'third'].filter((word) => context.includes(word))).toEqual(['third']);
  });

  it('does not let the new goal be removed, as no goal can be', async () => {
    const { kernel } = await plannerFixture();
    const pid = await kernel.processes.spawn({ goal: 'the first' });
    await kernel.processes.exec(pid, { image: 'planner', goal: 'the second' });
    const goal = await goalOf(kernel, pid);
    await kernel.memory.removeFromView(pid, goal);
    expect(await viewOf(kernel, pid)).toEqual([goal]);
  });

  it('changes nothing for a fork that was made before', async () => {
    const { kernel } = await plannerFixture();
    const pid = await kernel.processes.spawn({ goal: 'the first' });
    const fork = await kernel.processes.fork(pid, { goal: 'of the fork' });
    const live = await kernel.processes.fork(pid, { goal: 'of the worker', mode: 'worker' });
    const before = await contextOf(kernel, fork);
    await kernel.processes.exec(pid, { image: 'planner', goal: 'the second' });
    expect(await contextOf(kernel, fork)).toBe(before);
    expect(before).toContain('the first');
    const shown = await contextOf(kernel, live);
    expect([shown.includes('the first'), shown.includes('the second')]).toEqual([false, true]);
  });

  it('takes a goal back that it had before, and one that is in the view already', async () => {
    const { kernel } = await plannerFixture();
    const pid = await kernel.processes.spawn({ goal: 'the first' });
    const [first] = (await kernel.memory.view(pid)).roots;
    const found = await collectResult(kernel, pid, 'a map');
    await kernel.processes.exec(pid, { image: 'planner', goal: 'the second' });
    if (first === undefined) throw new Error('no goal');
    await kernel.processes.exec(pid, { image: 'planner', goal: first });
    expect((await viewOf(kernel, pid)).sort()).toEqual([first.id, found].sort());
    expect(await contextOf(kernel, pid)).toContain('the first');
  });

  it('leaves only the new goal without preserveMemory', async () => {
    const { kernel } = await plannerFixture();
    const pid = await kernel.processes.spawn({ goal: 'the first' });
    await collectResult(kernel, pid, 'a map');
    await kernel.processes.exec(pid, { image: 'planner', goal: 'the second', preserveMemory: false });
    expect(await viewOf(kernel, pid)).toEqual([await goalOf(kernel, pid)]);
  });
});

describe('exec without preserveCapabilities', () => {
  it('leaves reading and materializing what is in the view, over several times, and nothing else', async () => {
    const { kernel, path, refused } = await plannerFixture();
    const pid = await kernel.processes.spawn({ goal: 'the first' });
    const found = await collectResult(kernel, pid, 'a map');
    for (const image of ['planner', 'base', 'planner']) await kernel.processes.exec(pid, { image });
    expect(await kernel.memory.read(pid, found)).toMatchObject({ payload: { found: 'a map' } });
    expect(await contextOf(kernel, pid)).toContain('a map');
    expect((await kernel.memory.query(pid)).items.map(({ id }) => id)).toContain(found);
    expect((await kernel.capabilities.list(pid)).map(({ resource, rights }) => [resource, rights])).toEqual([
      [`ns:process/${pid}/**`, expect.any(Array)],
      [`object:${found}`, ['read', 'materialize']],
    ]);
    const stranger = await kernel.processes.spawnChild(pid);
    expect((await refused(() => kernel.as(pid).memory.share(stranger, found, ['read']))).code).toBe('AMPLIFICATION');
    await checkInvariants(kernel, path);
  });

  it('takes reading what is not in the view', async () => {
    const { kernel } = await plannerFixture();
    const pid = await kernel.processes.spawn({});
    const child = await kernel.processes.spawnChild(pid, { image: 'base' });
    await kernel.processes.complete(child, { found: 'unseen' });
    const { result } = await kernel.processes.wait(pid, child, { keep: false });
    await kernel.processes.exec(pid, { image: 'planner' });
    await expect(kernel.memory.read(pid, result ?? '')).rejects.toMatchObject({ code: 'NO_SUCH_OBJECT' });
  });

  it('leaves what was shared and added, for as long as its giver has it', async () => {
    const { kernel, path } = await plannerFixture();
    const owner = await kernel.processes.spawn({});
    const pid = await kernel.processes.spawnChild(owner);
    const page = await kernel.as(owner).memory.create({ type: 'evidence', payload: { page: 1 } });
    await kernel.as(owner).memory.share(pid, page, ['read']);
    await kernel.as(pid).memory.addToView(page.id);
    await kernel.processes.exec(pid, { image: 'planner' });
    expect(await kernel.memory.read(pid, page.id)).toMatchObject({ payload: { page: 1 } });
    expect((await kernel.memory.materialize(pid, { tokensMax: 100 })).manifest).toContainEqual(
      expect.objectContaining({ object: page.id, included: false, reason: 'capability_denied' }),
    );
    await checkInvariants(kernel, path);
    await kernel.processes.exec(owner, { image: 'planner', preserveMemory: false });
    expect(await kernel.memory.read(pid, page.id)).toMatchObject({ payload: { page: 1 } });
  });

  it('leaves what was read by a capability on its namespace, and a goal that was a handle', async () => {
    const { kernel } = await plannerFixture();
    const notes = { resource: 'ns:team/notes/**', rights: ['read', 'materialize', 'create'] as const };
    const pid = await kernel.processes.spawn({
      capabilities: [{ ...notes, rights: [...notes.rights], delegable: true }],
    });
    const note = await kernel.as(pid).memory.create({ type: 'evidence', payload: 'noted', namespace: 'team/notes' });
    const goal = await collectResult(kernel, pid, 'a plan');
    const handle = (await kernel.memory.view(pid)).roots.find(({ id }) => id === goal);
    if (handle === undefined) throw new Error('no handle');
    const child = await kernel.processes.spawnChild(pid, { goal: handle });
    await kernel.processes.exec(child, { image: 'planner' });
    expect(await kernel.memory.read(child, goal)).toMatchObject({ payload: { found: 'a plan' } });
    await kernel.processes.exec(pid, { image: 'planner' });
    expect(await contextOf(kernel, pid)).toContain('noted');
    expect((await kernel.capabilities.check(pid, 'create', 'ns:team/notes/x')).effect).toBe('deny');
    expect(await kernel.memory.read(pid, note.id)).toMatchObject({ payload: 'noted' });
  });

  it('ends with what the authority was drawn from, and not before', async () => {
    const { kernel } = await plannerFixture();
    const owner = await kernel.processes.spawn({
      capabilities: [{ resource: 'ns:team/**', rights: ['read', 'create'], delegable: true }],
    });
    const [granted] = (await kernel.capabilities.list(owner)).filter(({ resource }) => resource === 'ns:team/**');
    const page = await kernel.as(owner).memory.create({ type: 'evidence', payload: 'shown', namespace: 'team' });
    const pid = await kernel.processes.spawnChild(owner, { delegate: [{ resource: 'ns:team/**', rights: ['read'] }] });
    await kernel.as(pid).memory.addToView(page.id);
    await kernel.processes.exec(pid, { image: 'planner' });
    expect(await kernel.memory.read(pid, page.id)).toMatchObject({ payload: 'shown' });
    await kernel.capabilities.revoke(granted?.id ?? '');
    await expect(kernel.memory.read(pid, page.id)).rejects.toMatchObject({ code: 'NO_SUCH_OBJECT' });
  });
});
