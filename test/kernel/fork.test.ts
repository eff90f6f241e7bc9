import { describe, expect, it } from 'vitest';
import { externalImage } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { kernelFixture } from '../support/kernel-fixture.js';

describe('fork', () => {
  it('makes a child with its parent’s image', async () => {
    const { kernel, path } = await kernelFixture();
    const root = await kernel.processes.spawn({ image: 'worker' });
    const child = await kernel.processes.fork(root, { goal: 'try it' });
    expect(await kernel.processes.get(child)).toMatchObject({ parent: root, image: 'worker@1', status: 'runnable' });
    const { items } = await kernel.events.list({ pid: child });
    const { goal } = await kernel.processes.get(child);
    expect(items.map(({ type, data }) => ({ type, data }))).toEqual([
      { type: 'process.forked', data: { parent: root, image: 'worker@1', kind: 'agent', goal, mode: 'restricted' } },
    ]);
    await checkInvariants(kernel, path);
  });

  it('takes the parent’s version of the image, not the newest', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({ image: 'worker' });
    kernel.images.register(externalImage({ name: 'worker', version: '2' }));
    expect((await kernel.processes.get(await kernel.processes.fork(root, {}))).image).toBe('worker@1');
    expect((await kernel.processes.get(await kernel.processes.fork(root, { image: 'worker' }))).image).toBe('worker@2');
  });

  it('refuses an unknown mode, an unknown image, an ended parent and one that is being stopped', async () => {
    const { kernel, refused, edit } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const odd = { mode: 'other' } as never;
    expect((await refused(() => kernel.processes.fork(root, odd))).code).toBe('INVALID_INPUT');
    expect((await refused(() => kernel.processes.fork(root, { image: 'none' }))).code).toBe('NO_SUCH_IMAGE');
    expect((await refused(() => kernel.processes.fork('p_none', {}))).code).toBe('NO_SUCH_PROCESS');
    await edit(root, { status: 'waiting', node: 'n_other' });
    await kernel.processes.cancel(root);
    expect((await refused(() => kernel.processes.fork(root, {}))).code).toBe('TREE_STOPPING');
    await kernel.processes.kill(root);
    expect((await refused(() => kernel.processes.fork(root, {}))).code).toBe('PROCESS_TERMINATED');
  });

  it('takes every mode and a narrowed view', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    for (const mode of ['restricted', 'copy', 'speculative', 'worker'] as const) {
      const child = await kernel.processes.fork(root, {
        mode,
        view: { types: ['claim'], tags: ['x'], rights: ['read'] },
      });
      expect((await kernel.processes.get(child)).parent).toBe(root);
    }
  });
});

describe('fork with an id', () => {
  it('gives the same child for the same spec, also when the parent has become another program', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({ image: 'worker' });
    const child = await kernel.processes.fork(root, { id: 'try', mode: 'copy' });
    kernel.images.register(externalImage({ name: 'other' }));
    await kernel.processes.exec(root, { image: 'other' });
    expect(await kernel.processes.fork(root, { id: 'try', mode: 'copy' })).toBe(child);
  });

  it('refuses another mode, view, delegation or syscall for the same id', async () => {
    const { kernel, refused } = await kernelFixture();
    const tool = { resource: 'tool:x', rights: ['call' as const] };
    const root = await kernel.processes.spawn({ capabilities: [{ ...tool, delegable: true }] });
    await kernel.processes.fork(root, { id: 'try', mode: 'copy' });
    const others = [
      () => kernel.processes.fork(root, { id: 'try', mode: 'worker' }),
      () => kernel.processes.fork(root, { id: 'try', mode: 'copy', view: { types: ['claim'] } }),
      () => kernel.processes.fork(root, { id: 'try', mode: 'copy', delegate: [tool] }),
      () => kernel.processes.spawnChild(root, { id: 'try' }),
    ];
    for (const other of others) expect((await refused(other)).code).toBe('CONFLICT');
  });
});
