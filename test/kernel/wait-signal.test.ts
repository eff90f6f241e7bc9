import { describe, expect, it } from 'vitest';
import { createKernel, type JsonValue, type Kernel, type Pid } from '../../src/index.js';
import { WaitSignal } from '../../src/kernel/syscalls/wait-signal.js';
import type { ProcessCaller } from '../../src/unit/caller.js';
import { trackCall } from '../support/capability/pending-approvals.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, openKernel, refusal, tempFolder } from '../support/kernel.js';
import { eventsAfter, type KernelFixture, kernelFixture, lastSeq } from '../support/kernel-fixture.js';

/** The syscall as the body of a process makes it. */
function waitSignal(kernel: Kernel, pid: Pid, name: unknown, options?: unknown): Promise<JsonValue> {
  const caller: ProcessCaller = { face: 'process', pid };
  return kernel.container.get(WaitSignal).run(caller, pid, name, options);
}

async function listenerFixture(given?: KernelFixture): Promise<KernelFixture & { pid: Pid }> {
  const place = given ?? (await kernelFixture());
  return { ...place, pid: await place.kernel.processes.spawn({ image: 'worker' }) };
}

const poll = { timeoutMs: 0 };

describe('waitSignal', () => {
  it('gets the payloads of signals in the order in which they were sent, each once', async () => {
    const { kernel, path, pid } = await listenerFixture();
    for (const n of [1, 2, 3]) await kernel.processes.signal(pid, 'user.tick', { payload: { n } });
    await kernel.processes.signal(pid, 'user.tick');
    const got: JsonValue[] = [];
    for (let n = 0; n < 4; n++) got.push(await waitSignal(kernel, pid, 'tick'));
    expect(got).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }, null]);
    expect((await refusal(waitSignal(kernel, pid, 'tick', poll))).code).toBe('WAIT_TIMEOUT');
    await checkInvariants(kernel, path);
  });

  it('of several callers resolves the n-th with the n-th signal, also when several come at once', async () => {
    const { kernel, path, pid } = await listenerFixture();
    const waits = Array.from({ length: 5 }, () => waitSignal(kernel, pid, 'go'));
    await Promise.all([1, 2, 3, 4, 5].map((n) => kernel.processes.signal(pid, 'user.go', { payload: n })));
    expect(await Promise.all(waits)).toEqual([1, 2, 3, 4, 5]);
    await checkInvariants(kernel, path);
  });

  it('of two callers gives the first signal to the one that called first, also when the other one finds it', async () => {
    const { kernel, path, pid } = await listenerFixture(
      await kernelFixture({ node: { executor: false, pollMs: 60_000 } }),
    );
    const other = await openKernel({ store: path, node: { executor: false } });
    const first = waitSignal(kernel, pid, 'go');
    expect((await refusal(waitSignal(kernel, pid, 'go', poll))).code).toBe('WAIT_TIMEOUT');
    await other.processes.signal(pid, 'user.go', { payload: 1 });
    const second = waitSignal(kernel, pid, 'go');
    expect(await first).toBe(1);
    await other.processes.signal(pid, 'user.go', { payload: 2 });
    expect((await refusal(waitSignal(kernel, pid, 'go', poll))).code).toBe('WAIT_TIMEOUT');
    expect(await second).toBe(2);
    await checkInvariants(kernel, path);
  });

  it('passes its turn on when it is given up', async () => {
    const { kernel, path, pid } = await listenerFixture();
    const givenUp = new AbortController();
    const first = refusal(waitSignal(kernel, pid, 'go', { signal: givenUp.signal }));
    const second = waitSignal(kernel, pid, 'go');
    givenUp.abort();
    expect((await first).code).toBe('CANCELLED');
    await kernel.processes.signal(pid, 'user.go', { payload: 1 });
    expect(await second).toBe(1);
    await checkInvariants(kernel, path);
  });

  it('looks once behind other callers, and gets what they leave', async () => {
    const { kernel, path, pid } = await listenerFixture();
    const waits = [1, 2].map(() => waitSignal(kernel, pid, 'go'));
    for (const payload of [1, 2, 3]) await kernel.processes.signal(pid, 'user.go', { payload });
    expect(await waitSignal(kernel, pid, 'go', poll)).toBe(3);
    expect(await Promise.all(waits)).toEqual([1, 2]);
    expect((await refusal(waitSignal(kernel, pid, 'go', poll))).code).toBe('WAIT_TIMEOUT');
    await checkInvariants(kernel, path);
  });

  it('takes the name with its prefix and without it', async () => {
    const { kernel, pid } = await listenerFixture();
    await kernel.processes.signal(pid, 'user.a', { payload: 1 });
    await kernel.processes.signal(pid, 'user.a', { payload: 2 });
    await kernel.processes.signal(pid, 'user.user.a', { payload: 3 });
    expect(await waitSignal(kernel, pid, 'user.a')).toBe(1);
    expect(await waitSignal(kernel, pid, 'a')).toBe(2);
    expect(await waitSignal(kernel, pid, 'user.user.a')).toBe(3);
  });

  it('leaves signals of other names, and those of other processes', async () => {
    const { kernel, path, pid } = await listenerFixture();
    const other = await kernel.processes.spawn({});
    await kernel.processes.signal(pid, 'user.b', { payload: 'b' });
    await kernel.processes.signal(other, 'user.a', { payload: 'other' });
    expect((await refusal(waitSignal(kernel, pid, 'a', poll))).code).toBe('WAIT_TIMEOUT');
    expect(await waitSignal(kernel, pid, 'b', poll)).toBe('b');
    expect(await waitSignal(kernel, other, 'a', poll)).toBe('other');
    await checkInvariants(kernel, path);
  });

  it('goes on counting after the kernel was closed and opened again', async () => {
    const path = await newStore();
    const first = await listenerFixture(await kernelFixture({ store: path }));
    const { pid } = first;
    for (const n of [1, 2]) await first.kernel.processes.signal(pid, 'user.x', { payload: n });
    expect(await waitSignal(first.kernel, pid, 'x')).toBe(1);
    await first.kernel.shutdown();
    const { kernel } = await kernelFixture({ store: path });
    await kernel.processes.signal(pid, 'user.x', { payload: 3 });
    expect([await waitSignal(kernel, pid, 'x'), await waitSignal(kernel, pid, 'x')]).toEqual([2, 3]);
    const { items } = await kernel.events.list({ types: ['process.received'] });
    expect(items.map(({ data }) => data)).toEqual([1, 2, 3].map((ordinal) => ({ signal: 'user.x', ordinal })));
    await checkInvariants(kernel, path);
  });

  it('is woken by a signal that another kernel on the same file commits', async () => {
    const { kernel, path, pid } = await listenerFixture();
    await using other = await createKernel({
      logger: 'silent',
      store: path,
      workspace: tempFolder(),
      node: { executor: false },
    });
    const waiting = waitSignal(kernel, pid, 'far');
    await other.processes.signal(pid, 'user.far', { payload: 'away' });
    expect(await waiting).toBe('away');
  });

  it('is on record and an event, without the payload', async () => {
    const { kernel, pid } = await listenerFixture();
    await kernel.processes.signal(pid, 'user.x', { payload: 'secret' });
    const before = await lastSeq(kernel);
    await waitSignal(kernel, pid, 'x');
    expect(await eventsAfter(kernel, before)).toEqual([['process.received', pid]]);
    const { items } = await kernel.audit.list({ action: 'process.waitSignal' });
    expect(items).toMatchObject([{ actor: pid, target: pid, facts: { signal: 'user.x', ordinal: 1 } }]);
    expect(JSON.stringify(items)).not.toContain('secret');
  });

  it('gives up after its timeout and by the signal of its caller, and writes nothing', async () => {
    const { kernel, pid, refused } = await listenerFixture();
    expect(await refused(() => waitSignal(kernel, pid, 'x', { timeoutMs: 10 }))).toEqual({
      code: 'WAIT_TIMEOUT',
      facts: { pid, kind: 'signal', what: 'user.x', timeoutMs: 10 },
    });
    const signal = AbortSignal.abort();
    expect((await refused(() => waitSignal(kernel, pid, 'x', { signal }))).code).toBe('CANCELLED');
  });

  it('ends with the stop and the end of its process, and when the kernel closes', async () => {
    const { kernel, pid, edit } = await listenerFixture();
    await edit(pid, { status: 'running', node: 'n_other' });
    const stopped = trackCall(waitSignal(kernel, pid, 'x'));
    await kernel.processes.cancel(pid);
    await stopped.done;
    const killed = await kernel.processes.spawn({});
    const ended = trackCall(waitSignal(kernel, killed, 'x'));
    await kernel.processes.kill(killed);
    await ended.done;
    const closed = trackCall(waitSignal(kernel, await kernel.processes.spawn({}), 'x'));
    await kernel.shutdown();
    await closed.done;
    expect([stopped.state, ended.state, closed.state]).toEqual(['CANCELLED', 'PROCESS_TERMINATED', 'KERNEL_CLOSED']);
  });

  it('refuses what is no name and options that it does not know', async () => {
    const { kernel, pid, refused } = await listenerFixture();
    for (const name of ['', 'user.', 'a b', 5, null, undefined, 'x'.repeat(129), '../x', { toString: () => 'x' }]) {
      expect((await refused(() => waitSignal(kernel, pid, name, poll))).code).toBe('INVALID_INPUT');
    }
    expect((await refused(() => waitSignal(kernel, pid, 'x', { from: 'p' }))).code).toBe('INVALID_INPUT');
    expect((await refused(() => waitSignal(kernel, 'p_none', 'x', poll))).code).toBe('NO_SUCH_PROCESS');
  });
});

describe('a user signal that a process waits for', () => {
  const waiting = (name: string) => ({
    status: 'waiting',
    wait: JSON.stringify({ kind: 'signal', what: name, since: 1, on: [`signal:${name}`] }),
  });

  it('wakes it in the commit of the sending, also behind a pause', async () => {
    const { kernel, pid, edit, row } = await listenerFixture();
    await edit(pid, waiting('user.go'));
    const before = await lastSeq(kernel);
    await kernel.processes.signal(pid, 'user.go');
    expect(await row(pid)).toMatchObject({ status: 'runnable', wait: null });
    expect(await eventsAfter(kernel, before)).toEqual([
      ['process.signalled', pid],
      ['process.woken', pid],
    ]);
    await edit(pid, { ...waiting('user.go'), status: 'paused', previous: 'waiting' });
    await kernel.processes.signal(pid, 'user.go');
    expect(await row(pid)).toMatchObject({ status: 'paused', previous: 'runnable', wait: null });
  });

  it('of another name does not wake it', async () => {
    const { kernel, pid, edit, row } = await listenerFixture();
    await edit(pid, waiting('user.go'));
    await kernel.processes.signal(pid, 'user.stay');
    expect((await row(pid)).status).toBe('waiting');
  });
});
