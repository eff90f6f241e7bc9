import { describe, expect, it } from 'vitest';
import type { ObjectHandle } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { openKernel, refusal } from '../support/kernel.js';
import { kernelFixture } from '../support/kernel-fixture.js';

describe('exit', () => {
  it('ends a process once, with result, message and code, in one commit', async () => {
    const { kernel, path } = await kernelFixture();
    const pid = await kernel.processes.spawn({ image: 'worker' });
    await kernel.processes.exit(pid, { result: [1, 2], message: 'fine', exitCode: 3 });
    const record = await kernel.processes.get(pid);
    expect(record).toMatchObject({
      status: 'exited',
      outcome: { kind: 'completed', exitCode: 3 },
      message: 'fine',
      exitedAt: record.updatedAt,
    });
    const { items } = await kernel.events.list({ pid, types: ['process.exited'] });
    expect(items.map(({ data }) => data)).toEqual([
      { status: 'exited', outcome: 'completed', result: expect.stringMatching(/^o_/) },
    ]);
    expect(await kernel.processes.result(pid)).toMatchObject({ value: [1, 2], exitCode: 3, message: 'fine' });
    await checkInvariants(kernel, path);
  });

  it('with failed ends it as failed', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    await kernel.processes.exit(pid, { failed: true, message: 'no' });
    expect(await kernel.processes.get(pid)).toMatchObject({
      status: 'failed',
      outcome: { kind: 'failed' },
      message: 'no',
    });
  });

  it('ends a process in any live state', async () => {
    const { kernel, path, edit } = await kernelFixture();
    for (const status of ['created', 'runnable', 'running', 'waiting', 'paused', 'stopping']) {
      const pid = await kernel.processes.spawn({});
      await edit(pid, { status, node: ['running', 'waiting', 'stopping'].includes(status) ? 'n_other' : null });
      await kernel.processes.exit(pid, { result: status });
      expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited', value: status });
    }
    await checkInvariants(kernel, path, { edited: true });
  });

  it('keeps a result of null apart from no result', async () => {
    const { kernel } = await kernelFixture();
    const [a, b] = [await kernel.processes.spawn({}), await kernel.processes.spawn({})];
    await kernel.processes.exit(a, { result: null });
    await kernel.processes.exit(b);
    expect(await kernel.processes.result(a)).toHaveProperty('value', null);
    expect(await kernel.processes.result(b)).not.toHaveProperty('value');
    expect(await kernel.processes.result(b)).not.toHaveProperty('result');
  });

  it('refuses a second exit and leaves the row as the first one wrote it', async () => {
    const { kernel, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    await kernel.processes.exit(pid, { result: 'first' });
    expect(await refused(() => kernel.processes.exit(pid, { result: 'second' }))).toEqual({
      code: 'PROCESS_TERMINATED',
      facts: { pid, status: 'exited', outcome: 'completed' },
    });
    expect((await kernel.processes.result(pid)).value).toBe('first');
  });

  it('against a kill: the first wins, and the other is refused', async () => {
    const { kernel, path } = await kernelFixture();
    const a = await kernel.processes.spawn({});
    const [, killed] = await Promise.all([kernel.processes.exit(a, { result: 1 }), kernel.processes.kill(a)]);
    expect(killed).toMatchObject({ delivered: [], alreadyTerminal: [a] });
    expect(await kernel.processes.get(a)).toMatchObject({ status: 'exited', outcome: { kind: 'completed' } });
    const b = await kernel.processes.spawn({});
    const killing = kernel.processes.kill(b, 'enough');
    expect((await refusal(kernel.processes.exit(b, { result: 1 }))).code).toBe('PROCESS_TERMINATED');
    expect(await killing).toMatchObject({ delivered: [b] });
    expect(await kernel.processes.get(b)).toMatchObject({
      status: 'killed',
      outcome: { kind: 'killed', reason: 'enough' },
    });
    await checkInvariants(kernel, path);
  });

  it('of many concurrent ones lets exactly one through', async () => {
    const { kernel, path } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    const ends = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) => kernel.processes.exit(pid, { result: index })),
    );
    expect(ends.filter(({ status }) => status === 'fulfilled').length).toBe(1);
    await checkInvariants(kernel, path);
  });

  it('takes a handle on an object of the process’s own', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const child = await kernel.processes.spawnChild(root, { goal: 'keep' });
    const { goal } = await kernel.processes.get(child);
    const grandchild = await kernel.processes.spawnChild(child, {});
    await kernel.processes.complete(grandchild, 'deep');
    const deep = await handleOf(kernel.processes.wait(child, grandchild));
    await kernel.processes.exit(child, { result: deep });
    const result = await kernel.processes.wait(root, child);
    expect(result).toMatchObject({ value: 'deep', result: { id: deep.id } });
    expect(await kernel.memory.read(root, deep.id)).toMatchObject({ payload: 'deep' });
    expect(await kernel.memory.read(root, goal)).toMatchObject({ payload: { text: 'keep' } });
  });

  it('refuses a handle on what the process cannot hand on, and one of another store', async () => {
    const { kernel, refused } = await kernelFixture();
    const stranger = await kernel.processes.spawn({});
    await kernel.processes.complete(stranger, 'secret');
    const foreign = await handleOf(kernel.processes.result(stranger));
    const pid = await kernel.processes.spawn({});
    expect((await refused(() => kernel.processes.exit(pid, { result: foreign }))).code).toBe('NO_SUCH_OBJECT');
    const elsewhere = await openKernel({ store: ':memory:' });
    const other = await elsewhere.processes.spawn({});
    await elsewhere.processes.complete(other, 'x');
    const unknown = await handleOf(elsewhere.processes.result(other));
    expect((await refused(() => kernel.processes.exit(pid, { result: unknown }))).code).toBe('NO_SUCH_OBJECT');
  });

  it('hands its parent no more than the process held: what it could read until a time, the parent can until then', async () => {
    const { kernel } = await kernelFixture();
    const stranger = await kernel.processes.spawn({});
    await kernel.processes.complete(stranger, 'lent');
    const lent = await handleOf(kernel.processes.result(stranger));
    const root = await kernel.processes.spawn({});
    const child = await kernel.processes.spawnChild(root, {});
    const expiresAt = Date.now() + 3_600_000;
    const resource = `object:${lent.id}`;
    await kernel.capabilities.grant(child, { resource, rights: ['read'], delegable: true, expiresAt });
    await kernel.processes.exit(child, { result: lent });
    expect(await kernel.processes.wait(root, child)).toMatchObject({ value: 'lent' });
    const held = (await kernel.capabilities.list(root)).filter((capability) => capability.resource === resource);
    expect(held.map(({ rights, expiresAt: until, delegable }) => ({ rights, until, delegable }))).toEqual([
      { rights: ['read'], until: expiresAt, delegable: false },
    ]);
  });

  it('takes JSON that looks like a handle for data', async () => {
    const { kernel } = await kernelFixture();
    const stranger = await kernel.processes.spawn({});
    await kernel.processes.complete(stranger, 'secret');
    const forged = JSON.parse(JSON.stringify(await handleOf(kernel.processes.result(stranger))));
    const pid = await kernel.processes.spawn({});
    await kernel.processes.exit(pid, { result: forged });
    expect((await kernel.processes.result(pid)).value).toEqual(forged);
  });

  it('ends the authority of the process', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:x', rights: ['call'] }] });
    await kernel.processes.exit(pid);
    expect(await kernel.capabilities.check(pid, 'call', 'tool:x')).toMatchObject({ effect: 'deny' });
    expect((await refusal(kernel.capabilities.grant(pid, { resource: 'tool:x', rights: ['call'] }))).code).toBe(
      'PROCESS_TERMINATED',
    );
  });

  it('refuses a message that is too long, an unknown property and an odd code', async () => {
    const { kernel, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    const bad = [{ message: 'x'.repeat(4097) }, { more: 1 }, { exitCode: 0.5 }, { failed: 'yes' }, { message: 1 }, []];
    for (const spec of bad) {
      expect((await refused(() => kernel.processes.exit(pid, spec as never))).code).toBe('INVALID_INPUT');
    }
    await kernel.processes.exit(pid, { message: 'x'.repeat(4096) });
  });

  it('refuses every further change of an ended process', async () => {
    const { kernel, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({ image: 'worker' });
    await kernel.processes.exit(pid);
    const calls = [
      () => kernel.processes.exit(pid),
      () => kernel.processes.exec(pid, { image: 'worker' }),
      () => kernel.processes.fork(pid, {}),
      () => kernel.processes.spawnChild(pid, {}),
      () => kernel.processes.chdir(pid, '.'),
      () => kernel.processes.charge(pid, { tokens: 1 }),
      () => kernel.processes.reserve(pid, { tokens: 1 }),
      () => kernel.processes.setBudget(pid, { tokens: 1 }),
      () => kernel.processes.complete(pid),
      () => kernel.processes.fail(pid, 'x'),
      () => kernel.processes.progress(pid, { done: 1 }),
      () => kernel.processes.abandon(pid, 'x'),
      () => kernel.processes.wait(pid, pid),
      () => kernel.processes.waitAny(pid),
      () => kernel.processes.waitAll(pid),
      () => kernel.as(pid).exit(),
      () => kernel.as(pid).spawnChild(),
    ];
    for (const call of calls) expect((await refused(call)).code).toBe('PROCESS_TERMINATED');
  });
});

async function handleOf(waiting: Promise<{ result?: ObjectHandle }>): Promise<ObjectHandle> {
  const { result } = await waiting;
  if (result === undefined) throw new Error('there is no result');
  return result;
}
