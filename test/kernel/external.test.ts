import { describe, expect, it } from 'vitest';
import { externalImage } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { eventsAfter, kernelFixture, lastSeq } from '../support/kernel-fixture.js';

describe('an external process', () => {
  it('is completed from outside, with a result', async () => {
    const { kernel, path } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    await kernel.processes.complete(pid, { answer: 42 });
    expect(await kernel.processes.result(pid)).toMatchObject({
      status: 'exited',
      outcome: { kind: 'completed' },
      value: { answer: 42 },
    });
    const without = await kernel.processes.spawn({});
    await kernel.processes.complete(without);
    expect(await kernel.processes.result(without)).not.toHaveProperty('value');
    await checkInvariants(kernel, path);
  });

  it('is failed from outside, with a message', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    await kernel.processes.fail(pid, 'no network');
    expect(await kernel.processes.result(pid)).toMatchObject({
      status: 'failed',
      outcome: { kind: 'failed' },
      message: 'no network',
    });
  });

  it('is started by its first report of progress', async () => {
    const { kernel, path } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    const seq = await lastSeq(kernel);
    await kernel.processes.progress(pid, { done: 1, total: 3, text: 'one' });
    const first = await kernel.processes.get(pid);
    expect(first).toMatchObject({
      status: 'running',
      startedAt: first.updatedAt,
      progress: { done: 1, total: 3, text: 'one' },
    });
    await kernel.processes.progress(pid, { done: 2 });
    expect(await kernel.processes.get(pid)).toMatchObject({ startedAt: first.startedAt, progress: { done: 2 } });
    expect(await eventsAfter(kernel, seq)).toEqual([
      ['process.started', pid],
      ['process.progressed', pid],
      ['process.progressed', pid],
    ]);
    await checkInvariants(kernel, path);
  });

  it('that was held, or came by exec, is started by its first report too', async () => {
    const { kernel, path } = await kernelFixture();
    const held = await kernel.processes.spawn({ held: true });
    await kernel.processes.progress(held, { done: 0 });
    expect((await kernel.processes.get(held)).status).toBe('paused');
    await kernel.processes.resume(held);
    await kernel.processes.progress(held, { done: 1 });
    expect((await kernel.processes.get(held)).status).toBe('running');
    kernel.images.register(externalImage({ name: 'elsewhere' }));
    const changed = await kernel.processes.spawn({ image: 'worker' });
    await kernel.processes.exec(changed, { image: 'elsewhere' });
    await kernel.processes.progress(changed, { done: 1 });
    expect((await kernel.processes.get(changed)).status).toBe('running');
    await checkInvariants(kernel, path);
  });

  it('is cancelled at once, as no node runs it', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    await kernel.processes.progress(pid, { done: 1 });
    await kernel.processes.cancel(pid, 'enough');
    expect(await kernel.processes.get(pid)).toMatchObject({ status: 'killed', outcome: { kind: 'cancelled' } });
  });

  it('is abandoned with evidence when its outcome will never be known', async () => {
    const { kernel, path } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    await kernel.processes.abandon(pid, 'lost contact');
    expect(await kernel.processes.get(pid)).toMatchObject({
      status: 'abandoned',
      outcome: { kind: 'abandoned', reason: 'lost contact', by: 'host', evidence: { kind: 'requested' } },
    });
    await checkInvariants(kernel, path);
  });

  it('refuses invalid reports', async () => {
    const { kernel, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    for (const progress of [{}, { done: -1 }, { done: Number.NaN }, { done: '1' }, { done: 1, more: 2 }, null]) {
      expect((await refused(() => kernel.processes.progress(pid, progress as never))).code).toBe('INVALID_INPUT');
    }
    expect((await refused(() => kernel.processes.fail(pid, undefined as never))).code).toBe('INVALID_INPUT');
    expect((await refused(() => kernel.processes.abandon(pid, 5 as never))).code).toBe('INVALID_INPUT');
    expect((await refused(() => kernel.processes.complete(pid, (() => 1) as never))).code).toBe('INVALID_INPUT');
  });
});

describe('an agent', () => {
  it('is not completed, failed or reported on from outside; the attempt is on record', async () => {
    const { kernel, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({ image: 'worker' });
    expect((await refused(() => kernel.processes.complete(pid, 1))).code).toBe('INVALID_TRANSITION');
    expect((await refused(() => kernel.processes.fail(pid, 'x'))).code).toBe('INVALID_TRANSITION');
    expect((await refused(() => kernel.processes.progress(pid, { done: 1 }))).code).toBe('INVALID_TRANSITION');
    const { items } = await kernel.audit.list({ outcome: 'refused' });
    expect(items.map(({ actor, action, code, target }) => [actor, action, code, target])).toEqual([
      ['host', 'process.exit', 'INVALID_TRANSITION', pid],
      ['host', 'process.progress', 'INVALID_TRANSITION', pid],
    ]);
  });
});

describe('a process that does not exist', () => {
  it('takes no reports', async () => {
    const { kernel, refused } = await kernelFixture();
    const calls = [
      () => kernel.processes.complete('p_none'),
      () => kernel.processes.fail('p_none', 'x'),
      () => kernel.processes.progress('p_none', { done: 1 }),
      () => kernel.processes.abandon('p_none', 'x'),
    ];
    for (const call of calls) expect((await refused(call)).code).toBe('NO_SUCH_PROCESS');
  });
});
