import { describe, expect, it, vi } from 'vitest';
import { externalImage } from '../../src/index.js';
import { ProcessRepository } from '../../src/kernel/process/process-repository.js';
import { ObjectRepository } from '../../src/memory/object/object-repository.js';
import { ViewRepository } from '../../src/memory/view/view-repository.js';
import { checkInvariants } from '../support/invariants.js';
import { type KernelFixture, kernelFixture } from '../support/kernel-fixture.js';

const search = { resource: 'tool:search', rights: ['call' as const] };

async function plannerFixture(): Promise<KernelFixture> {
  const set = await kernelFixture();
  set.kernel.images.register(externalImage({ name: 'planner' }));
  set.kernel.images.register(
    externalImage({ name: 'mailer', requires: [{ resource: 'tool:mail', rights: ['call'] }] }),
  );
  return set;
}

describe('exec', () => {
  it('replaces the image and keeps pid, parent, children, cwd and used budget', async () => {
    const { kernel, path } = await plannerFixture();
    const root = await kernel.processes.spawn({});
    const pid = await kernel.processes.spawnChild(root, { image: 'worker', goal: 'first', budget: { tokens: 10 } });
    const child = await kernel.processes.spawnChild(pid, {});
    await kernel.processes.charge(pid, { tokens: 4 });
    const { wait, ...before } = await kernel.processes.get(pid);
    // Nobody runs the body here.
    expect(wait).toMatchObject({ kind: 'image' });
    await kernel.processes.exec(pid, { image: 'planner', args: { a: 1 } });
    const after = await kernel.processes.get(pid);
    expect(after).toEqual({
      ...before,
      image: 'planner@1',
      args: { a: 1 },
      kind: 'external',
      status: 'created',
      generation: 2,
      updatedAt: after.updatedAt,
    });
    expect((await kernel.processes.children(pid)).map((record) => record.pid)).toEqual([child]);
    await checkInvariants(kernel, path);
  });

  it('bumps generation and fence, begins again at attempt 1 and drops what it waited for', async () => {
    const { kernel, edit, row } = await plannerFixture();
    const pid = await kernel.processes.spawn({ image: 'worker' });
    const wait = JSON.stringify({ kind: 'timer', what: 'x', since: 1 });
    await edit(pid, { status: 'waiting', node: 'n_other', attempt: 3, wait });
    await kernel.processes.exec(pid, { image: 'planner' });
    expect(await row(pid)).toMatchObject({
      status: 'created',
      generation: 2,
      fence: 2,
      attempt: 1,
      node: null,
      wait: null,
    });
  });

  it('takes a process that nobody has started to the status in which its new image begins', async () => {
    const { kernel, path } = await plannerFixture();
    const pid = await kernel.processes.spawn({});
    await kernel.processes.exec(pid, { image: 'worker' });
    expect(await kernel.processes.get(pid)).toMatchObject({ status: 'runnable', kind: 'agent', generation: 2 });
    await kernel.processes.exec(pid, { image: 'planner' });
    expect(await kernel.processes.get(pid)).toMatchObject({ status: 'created', kind: 'external', generation: 3 });
    await checkInvariants(kernel, path);
  });

  it('leaves a paused process paused, with the beginning of the new image behind it', async () => {
    const { kernel } = await plannerFixture();
    const pid = await kernel.processes.spawn({ image: 'worker', held: true });
    await kernel.processes.exec(pid, { image: 'planner' });
    expect(await kernel.processes.get(pid)).toMatchObject({ status: 'paused', pausedBy: 'host' });
    await kernel.processes.resume(pid);
    expect((await kernel.processes.get(pid)).status).toBe('created');
  });

  it('takes all authority but the own namespace', async () => {
    const { kernel } = await plannerFixture();
    const pid = await kernel.processes.spawn({ image: 'worker', capabilities: [search] });
    await kernel.processes.exec(pid, { image: 'planner' });
    expect((await kernel.capabilities.list(pid)).map(({ resource }) => resource)).toEqual([`ns:process/${pid}/**`]);
    expect((await kernel.capabilities.check(pid, 'call', 'tool:search')).effect).toBe('deny');
  });

  it('keeps authority with preserveCapabilities, also over a second exec, until one does not', async () => {
    const { kernel } = await plannerFixture();
    const pid = await kernel.processes.spawn({ image: 'worker', capabilities: [search] });
    await kernel.processes.exec(pid, { image: 'planner', preserveCapabilities: true });
    await kernel.processes.exec(pid, { image: 'worker', preserveCapabilities: true });
    expect((await kernel.capabilities.check(pid, 'call', 'tool:search')).effect).toBe('allow');
    await kernel.processes.exec(pid, { image: 'planner' });
    expect((await kernel.capabilities.check(pid, 'call', 'tool:search')).effect).toBe('deny');
  });

  it('ends the authority that children got from it', async () => {
    const { kernel } = await plannerFixture();
    const pid = await kernel.processes.spawn({ image: 'worker', capabilities: [{ ...search, delegable: true }] });
    const child = await kernel.processes.spawnChild(pid, { delegate: [search] });
    await kernel.processes.exec(pid, { image: 'planner' });
    expect((await kernel.capabilities.check(child, 'call', 'tool:search')).effect).toBe('deny');
  });

  it('gives a new goal and, without preserveMemory, a fresh view', async () => {
    const { kernel, row } = await plannerFixture();
    const pid = await kernel.processes.spawn({ image: 'worker', goal: 'first' });
    const { view } = await row(pid);
    await kernel.processes.exec(pid, { image: 'planner', goal: 'second' });
    expect(await kernel.memory.read(pid, (await kernel.processes.get(pid)).goal)).toMatchObject({
      payload: { text: 'second' },
    });
    expect((await row(pid)).view).toBe(view);
    await kernel.processes.exec(pid, { image: 'planner', preserveMemory: false });
    expect((await row(pid)).view).not.toBe(view);
  });

  it('gives a goal that is a handle to read, although its authority shrinks', async () => {
    const { kernel } = await plannerFixture();
    const pid = await kernel.processes.spawn({ image: 'worker' });
    const child = await kernel.processes.spawnChild(pid, { image: 'base' });
    await kernel.processes.complete(child, { found: 1 });
    const { result } = await kernel.processes.wait(pid, child);
    if (result === undefined) throw new Error('no result');
    await kernel.processes.exec(pid, { image: 'planner', goal: result });
    expect((await kernel.processes.get(pid)).goal).toBe(result.id);
    expect(await kernel.memory.read(pid, result.id)).toMatchObject({ payload: { found: 1 } });
  });

  it('refuses a goal that the process cannot read', async () => {
    const { kernel, refused } = await plannerFixture();
    const stranger = await kernel.processes.spawn({});
    await kernel.processes.complete(stranger, 'secret');
    const { result } = await kernel.processes.result(stranger);
    if (result === undefined) throw new Error('no result');
    const pid = await kernel.processes.spawn({ image: 'worker' });
    expect((await refused(() => kernel.processes.exec(pid, { image: 'planner', goal: result }))).code).toBe(
      'NO_SUCH_OBJECT',
    );
  });

  it('meets the requirements of the new image with what is left', async () => {
    const { kernel, refused } = await plannerFixture();
    const mail = { resource: 'tool:mail', rights: ['call' as const] };
    const pid = await kernel.processes.spawn({ image: 'worker', capabilities: [mail] });
    expect((await refused(() => kernel.processes.exec(pid, { image: 'mailer' }))).code).toBe('CAPABILITY_DENIED');
    await kernel.processes.exec(pid, { image: 'mailer', preserveCapabilities: true });
    expect((await kernel.processes.get(pid)).image).toBe('mailer@1');
  });

  it('writes no row before the requirements of the new image were checked', async () => {
    const { kernel } = await plannerFixture();
    const pid = await kernel.processes.spawn({ image: 'worker' });
    const writes = [
      vi.spyOn(kernel.container.get(ProcessRepository), 'update'),
      vi.spyOn(kernel.container.get(ObjectRepository), 'insert'),
      vi.spyOn(kernel.container.get(ViewRepository), 'insert'),
    ];
    const exec = kernel.processes.exec(pid, { image: 'mailer', goal: 'new', preserveMemory: false });
    await expect(exec).rejects.toMatchObject({ code: 'CAPABILITY_DENIED' });
    expect(writes.flatMap(({ mock }) => mock.calls as unknown[])).toEqual([]);
  });

  it('refuses an unknown image before anything changes', async () => {
    const { kernel, refused } = await plannerFixture();
    const pid = await kernel.processes.spawn({ image: 'worker', capabilities: [search] });
    expect((await refused(() => kernel.processes.exec(pid, { image: 'none' }))).code).toBe('NO_SUCH_IMAGE');
    expect((await refused(() => kernel.processes.exec(pid, {} as never))).code).toBe('INVALID_INPUT');
  });

  it('refuses a process that is being stopped, has ended or never was', async () => {
    const { kernel, refused, edit } = await plannerFixture();
    const exec = (pid: string) => () => kernel.processes.exec(pid, { image: 'planner' });
    const pid = await kernel.processes.spawn({});
    await edit(pid, { status: 'running', node: 'n_other' });
    await kernel.processes.cancel(pid);
    expect((await refused(exec(pid))).code).toBe('TREE_STOPPING');
    await kernel.processes.kill(pid);
    expect((await refused(exec(pid))).code).toBe('PROCESS_TERMINATED');
    expect((await refused(exec('p_none'))).code).toBe('NO_SUCH_PROCESS');
  });
});
