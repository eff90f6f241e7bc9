import { describe, expect, it } from 'vitest';
import { defineImage, type Kernel, type Pid, type Right } from '../../src/index.js';
import { pollUntil } from '../support/gate.js';
import { checkInvariants } from '../support/invariants.js';
import { openKernel } from '../support/kernel.js';
import { kernelFixture } from '../support/kernel-fixture.js';

async function spawnHolder(kernel: Kernel, target: Pid, rights: Right[]): Promise<Pid> {
  return kernel.processes.spawn({ capabilities: [{ resource: `process:${target}`, rights }] });
}

describe('the right wait', () => {
  it('lets a process wait for one that is no child, and tells how it ended and no more', async () => {
    const { kernel, path } = await kernelFixture();
    const target = await kernel.processes.spawn({});
    const pid = await spawnHolder(kernel, target, ['wait']);
    const waiting = kernel.as(pid).wait(target);
    await kernel.processes.exit(target, { result: { secret: 1 }, message: 'private', exitCode: 3 });
    const told = { pid: target, status: 'exited', outcome: { kind: 'completed', exitCode: 3 }, exitCode: 3, usage: {} };
    expect(await waiting).toEqual(told);
    expect(await kernel.as(pid).waitAny([target])).toEqual(told);
    expect(await kernel.as(pid).waitAll([target])).toEqual([told]);
    expect(await kernel.processes.wait(pid, target)).toEqual(told);
    await checkInvariants(kernel, path);
  });

  it('gives value, message and a handle of its own, for reading, with the right read as well', async () => {
    const { kernel, path } = await kernelFixture();
    const target = await kernel.processes.spawn({});
    const pid = await spawnHolder(kernel, target, ['wait', 'read']);
    await kernel.processes.exit(target, { result: { found: 1 }, message: 'done' });
    const { result, value, message } = await kernel.as(pid).wait(target);
    expect([value, message, result?.rights]).toEqual([{ found: 1 }, 'done', ['read']]);
    expect((await kernel.as(pid).wait(target)).result?.capability).toBe(result?.capability);
    expect(await kernel.as(pid).memory.read(result ?? '')).toMatchObject({ payload: { found: 1 } });
    await checkInvariants(kernel, path);
  });

  it('is missing: NOT_A_CHILD, for what does not exist too', async () => {
    const { kernel, refused } = await kernelFixture();
    const target = await kernel.processes.spawn({});
    const reader = await spawnHolder(kernel, target, ['read']);
    const all = await kernel.processes.spawn({ capabilities: [{ resource: 'process:**', rights: ['wait', 'read'] }] });
    expect((await refused(() => kernel.as(reader).wait(target))).code).toBe('NOT_A_CHILD');
    expect((await refused(() => kernel.as(reader).waitAll([target]))).code).toBe('NOT_A_CHILD');
    for (const pid of [reader, all]) {
      expect((await refused(() => kernel.as(pid).wait('p_none'))).code).toBe('NOT_A_CHILD');
      expect((await refused(() => kernel.as(pid).get('p_none'))).code).toBe('NOT_A_CHILD');
    }
    await kernel.capabilities.deny(all, { resource: `process:${target}`, rights: ['wait'] });
    expect((await refused(() => kernel.as(all).wait(target))).code).toBe('CAPABILITY_DENIED');
  });

  it('wakes a body, whose rerun gets the same answer although the right is gone', async () => {
    const seen: unknown[] = [];
    const watcher = defineImage<{ target: Pid }>({
      name: 'watcher',
      retry: { attempts: 2, baseMs: 1 },
      run: async (ctx, { target }) => {
        const { value, result } = await ctx.wait(target);
        seen.push([value, result?.id]);
        if (ctx.attempt > 1) return;
        for (const { id, resource } of await kernel.capabilities.list(ctx.pid))
          if (resource.startsWith('process:')) await kernel.capabilities.revoke(id);
        throw new Error('again');
      },
    });
    const kernel = await openKernel({ images: [watcher] });
    const target = await kernel.processes.spawn({});
    const capabilities = [{ resource: `process:${target}`, rights: ['wait' as const, 'read' as const] }];
    const pid = await kernel.processes.spawn({ image: 'watcher', args: { target }, capabilities });
    await pollUntil(async () => (await kernel.processes.get(pid)).status === 'waiting');
    await kernel.processes.complete(target, 'found');
    expect((await kernel.processes.result(pid)).status).toBe('exited');
    expect(seen).toEqual([seen[0], seen[0]]);
    expect(seen[0]).toEqual(['found', expect.stringMatching(/^o_/)]);
  });

  it('counts for cycles', async () => {
    const image = defineImage<{ other?: Pid }>({
      name: 'waiter',
      run: async (ctx) => {
        const { body } = await ctx.receive({ from: 'host' });
        return ctx.wait(body as Pid).then(
          () => 'ended',
          (error) => error.code,
        );
      },
    });
    const kernel = await openKernel({ images: [image] });
    const capabilities = [{ resource: 'process:**', rights: ['wait' as const] }];
    const one = await kernel.processes.spawn({ image: 'waiter', capabilities });
    const two = await kernel.processes.spawn({ image: 'waiter', capabilities });
    await kernel.processes.send(one, two);
    await pollUntil(async () => (await kernel.processes.get(one)).wait?.what === two);
    await kernel.processes.send(two, one);
    expect((await kernel.processes.result(two)).value).toBe('WAIT_CYCLE');
    expect((await kernel.processes.result(one)).value).toBe('ended');
  });
});

describe('the right read', () => {
  it('lets a process get the record of another one; its children and itself need none', async () => {
    const { kernel, refused } = await kernelFixture();
    const target = await kernel.processes.spawn({ name: 'seen' });
    const pid = await spawnHolder(kernel, target, ['read']);
    const child = await kernel.processes.spawnChild(pid);
    expect(await kernel.as(pid).get(target)).toEqual(await kernel.processes.get(target));
    expect((await kernel.as(pid).get(child)).parent).toBe(pid);
    expect((await kernel.as(pid).get(pid)).pid).toBe(pid);
    expect((await refused(() => kernel.as(child).get(target))).code).toBe('NOT_A_CHILD');
    expect((await refused(() => kernel.as(child).get(pid))).code).toBe('NOT_A_CHILD');
  });
});

describe('the right signal', () => {
  it('lets a process send user signals with a payload, to children without a grant', async () => {
    const { kernel, path, refused } = await kernelFixture();
    const target = await kernel.processes.spawn({});
    const pid = await spawnHolder(kernel, target, ['signal']);
    const child = await kernel.processes.spawnChild(pid);
    for (const to of [target, child]) {
      const { delivered } = await kernel.as(pid).signal(to, 'user.hurry', { payload: { by: 'noon' } });
      expect(delivered).toEqual([to]);
    }
    const { items } = await kernel.audit.list({ action: 'process.signal', actor: pid });
    expect(items.map(({ target: to, payload }) => [to, payload])).toEqual([
      [target, { payload: { by: 'noon' } }],
      [child, { payload: { by: 'noon' } }],
    ]);
    await checkInvariants(kernel, path);
    expect((await refused(() => kernel.as(child).signal(target, 'user.hurry'))).code).toBe('NOT_A_CHILD');
    expect((await refused(() => kernel.as(child).signal('p_none', 'user.hurry'))).code).toBe('NOT_A_CHILD');
    expect((await refused(() => kernel.as(pid).signal(target, 'kill' as never))).code).toBe('INVALID_INPUT');
    expect((await refused(() => kernel.as(pid).signal(target, 'user.x', { id: 'a' } as never))).code).toBe(
      'INVALID_INPUT',
    );
  });

  it('is there for bodies as ctx.sendSignal', async () => {
    const boss = defineImage({
      name: 'boss',
      run: async (ctx) => {
        const child = await ctx.spawnChild({ image: 'clerk' });
        await ctx.sendSignal(child, 'user.hurry', { payload: 7 });
        return (await ctx.wait(child)).value ?? null;
      },
    });
    const clerk = defineImage({ name: 'clerk', run: (ctx) => ctx.waitSignal('hurry') });
    const kernel = await openKernel({ images: [boss, clerk] });
    const pid = await kernel.processes.spawn({ image: 'boss' });
    expect((await kernel.processes.result(pid)).value).toBe(7);
  });
});
