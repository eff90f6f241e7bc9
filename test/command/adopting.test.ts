import { describe, expect, it } from 'vitest';
import type { AdoptSpec, Kernel, KernelOptions } from '../../src/index.js';
import { isStoppedBySignal } from '../support/command-fixture.js';
import { eventually } from '../support/eventually.js';
import { childrenOf, foreignProgram, groupOf, idle, isLive, membersOf } from '../support/foreign-program.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';

async function opened(options: KernelOptions = {}): Promise<{ kernel: Kernel; store: string }> {
  const store = options.store ?? (await newStore());
  return { kernel: await openKernel({ ...options, store }), store };
}

describe('an OS process that somebody else has started', () => {
  it('becomes a running command with what is told of it, and its end is told', async () => {
    const { kernel, store } = await opened();
    const parent = await kernel.processes.spawn({});
    const { osPid, child } = await foreignProgram(idle());
    const handle = await kernel.processes.adopt({
      osPid,
      startedAt: Date.now(),
      command: 'indexer',
      args: ['--token', 'hunter2hunter2', 'src'],
      cwd: '/srv/elsewhere',
      parent,
      owner: { session: 's1', source: 'subprocess' },
      name: 'indexer-1',
    });
    const record = await kernel.processes.get(handle.pid);
    expect(record).toMatchObject({
      kind: 'command',
      status: 'running',
      parent,
      name: 'indexer-1',
      owner: { session: 's1', source: 'subprocess' },
      node: kernel.nodeId,
      cwd: '.',
      args: { cwd: '/srv/elsewhere' },
      command: { osPid, adopted: {} },
    });
    expect(record.command?.line).toMatch(/^indexer --token .* src$/);
    expect(JSON.stringify(record)).not.toContain('hunter2');
    expect(record.command).not.toHaveProperty('outputFile');
    await handle.complete({ exitCode: 0 });
    expect(await kernel.processes.wait(parent, handle.pid)).toMatchObject({
      status: 'exited',
      outcome: { kind: 'completed', exitCode: 0 },
    });
    expect((await refusal(handle.complete({ exitCode: 0 }))).code).toBe('PROCESS_TERMINATED');
    expect((await refusal(kernel.processes.complete(handle.pid, { exitCode: 1 }))).code).toBe('PROCESS_TERMINATED');
    // The end of the row says nothing about the program, which is somebody else's.
    expect(child.exitCode ?? child.signalCode).toBeNull();
    await checkInvariants(kernel, store);
  });

  it.each([
    [{}, 'exited', { kind: 'completed' }, undefined],
    [undefined, 'exited', { kind: 'completed' }, undefined],
    [{ exitCode: 3 }, 'failed', { kind: 'failed', exitCode: 3 }, undefined],
    [{ error: 'out of memory' }, 'failed', { kind: 'failed' }, 'out of memory'],
  ] as const)('that is completed with %j ends as %s', async (end, status, outcome, message) => {
    const { kernel } = await opened();
    const { osPid } = await foreignProgram(idle());
    const { pid } = await kernel.processes.adopt({ osPid });
    await kernel.processes.complete(pid, end);
    const result = await kernel.processes.result(pid);
    expect(result).toMatchObject({ status, outcome });
    expect(result.message).toBe(message);
  });

  it('that ends without a word is abandoned', async () => {
    const { kernel, store } = await opened();
    const { osPid, child } = await foreignProgram(idle());
    const { pid, complete } = await kernel.processes.adopt({ osPid });
    child.kill('SIGKILL');
    expect(await kernel.processes.result(pid)).toMatchObject({
      status: 'abandoned',
      outcome: { kind: 'abandoned', reason: 'pid_gone', evidence: { kind: 'pid_gone', pid: osPid } },
    });
    expect((await refusal(complete({ exitCode: 0 }))).code).toBe('PROCESS_TERMINATED');
    await checkInvariants(kernel, store);
  });

  it('whose end is told as soon as it is seen keeps its exit code', async () => {
    const { kernel } = await opened();
    const { osPid, child, exit } = await foreignProgram(idle("trap 'exit 7' TERM"));
    const { pid, complete } = await kernel.processes.adopt({ osPid });
    child.kill('SIGTERM');
    const [exitCode] = await exit;
    await complete({ exitCode: exitCode ?? 0 });
    expect((await kernel.processes.get(pid)).outcome).toEqual({ kind: 'failed', exitCode: 7 });
  });

  it('that is abandoned by the host is left alone', async () => {
    const { kernel } = await opened();
    const { osPid } = await foreignProgram(idle());
    const { pid } = await kernel.processes.adopt({ osPid });
    await kernel.processes.abandon(pid, 'not ours any more');
    expect((await kernel.processes.get(pid)).status).toBe('abandoned');
    // Its process can be adopted again, and lives.
    await kernel.processes.adopt({ osPid });
    expect(isLive(osPid)).toBe(true);
  });

  it('has no output', async () => {
    const { kernel } = await opened();
    const { osPid } = await foreignProgram(idle());
    const { pid } = await kernel.processes.adopt({ osPid });
    expect((await refusal(kernel.processes.readOutput(pid))).code).toBe('INVALID_TRANSITION');
    expect((await refusal(kernel.processes.waitOutput(pid, 'up'))).code).toBe('INVALID_TRANSITION');
  });

  it('is on record with its identity', async () => {
    const { kernel } = await opened();
    const { osPid } = await foreignProgram(idle());
    const { pid } = await kernel.processes.adopt({ osPid, command: 'indexer' });
    const { items } = await kernel.audit.list({ target: pid });
    expect(items.map(({ action }) => action)).toEqual(['process.spawn', 'process.adopt', 'process.start']);
    expect(items[1]).toMatchObject({ actor: 'host', facts: { osPid, group: null }, payload: { line: 'indexer' } });
  });
});

describe('a checkpoint', () => {
  it('replaces owner, command line and folder, by the handle or by pid; what is not named stays', async () => {
    const { kernel, store } = await opened();
    const { osPid } = await foreignProgram(idle());
    const spec = { osPid, owner: { session: 'a', turn: '1' }, command: 'sh', args: ['-x'], cwd: '/one' };
    const { pid, checkpoint } = await kernel.processes.adopt(spec);
    await checkpoint({ owner: { session: 'b' } });
    expect(await kernel.processes.get(pid)).toMatchObject({
      owner: { session: 'b' },
      args: { argv: ['sh', '-x'], cwd: '/one' },
      command: { line: 'sh -x' },
    });
    expect((await kernel.processes.list({ owner: { turn: '1' } })).items).toEqual([]);
    await kernel.processes.checkpoint(pid, { command: 'bash', args: ['PASSWORD=geheim123'], cwd: '/two' });
    const record = await kernel.processes.get(pid);
    expect(record).toMatchObject({ owner: { session: 'b' }, args: { cwd: '/two' }, status: 'running' });
    expect(record.command?.line).toMatch(/^bash /);
    expect(JSON.stringify(record)).not.toContain('geheim123');
    expect((await kernel.processes.list({ owner: { session: 'b' } })).items.map((item) => item.pid)).toEqual([pid]);
    const { items } = await kernel.audit.list({ action: 'process.checkpoint' });
    expect(items.map(({ facts }) => facts?.fields)).toEqual([['owner'], ['command', 'args', 'cwd']]);
    await checkInvariants(kernel, store);
  });

  it('is refused for other processes, for ended ones, and for wrong facts', async () => {
    const { kernel } = await opened();
    const { osPid } = await foreignProgram(idle());
    const { pid, checkpoint, complete } = await kernel.processes.adopt({ osPid });
    for (const wrong of [{ osPid: 5 }, { owner: { user: 'x' } }, { args: 'x' }, null, undefined])
      expect((await refusal(checkpoint(wrong as never))).code).toBe('INVALID_INPUT');
    for (const wrong of [{ exitCode: 1, error: 'x' }, { exitCode: 'x' }, { exitCode: 1.5 }, 5, { status: 1 }])
      expect((await refusal(complete(wrong as never))).code).toBe('INVALID_INPUT');
    const other = await kernel.processes.spawn({});
    expect((await refusal(kernel.processes.checkpoint(other, {}))).code).toBe('INVALID_TRANSITION');
    expect((await refusal(kernel.processes.checkpoint('p_none', {}))).code).toBe('NO_SUCH_PROCESS');
    await complete();
    expect((await refusal(checkpoint({}))).code).toBe('PROCESS_TERMINATED');
    expect((await refusal(kernel.processes.checkpoint(pid, {}))).code).toBe('PROCESS_TERMINATED');
  });
});

describe('the stop of an adopted program', () => {
  it.each([
    ['cancel', 'cancelled'],
    ['kill', 'killed'],
  ] as const)('by %s reaches the process alone', async (signal, kind) => {
    const { kernel, store } = await opened();
    const { osPid, exit, child } = await foreignProgram('sleep 300 & echo up; wait');
    const [other = 0] = childrenOf(osPid);
    const { pid } = await kernel.processes.adopt({ osPid });
    expect((await kernel.processes.signal(pid, signal, { reason: 'enough' })).delivered).toEqual([pid]);
    expect((await kernel.processes.result(pid)).outcome).toMatchObject({ kind, reason: 'enough', by: 'host' });
    await exit;
    expect(child.signalCode).toBe(signal === 'kill' ? 'SIGKILL' : 'SIGTERM');
    expect(isLive(other)).toBe(true);
    await checkInvariants(kernel, store);
  });

  it('reaches the group that it leads, if that is named', async () => {
    const { kernel } = await opened();
    const script = `sh -c "trap '' TERM; echo \\$\\$ ready; while :; do sleep 0.05; done" & echo up; wait`;
    const { osPid, child } = await foreignProgram(script);
    const { pid } = await kernel.processes.adopt({ osPid, groupPid: osPid });
    expect((await kernel.processes.get(pid)).command?.adopted).toEqual({ groupPid: osPid });
    await kernel.processes.cancel(pid, 'enough', { graceMs: 300 });
    expect((await kernel.processes.result(pid)).outcome.kind).toBe('cancelled');
    expect(child.signalCode ?? child.exitCode).not.toBeNull();
    // Nobody is left in the group, not even who ignores SIGTERM.
    expect(membersOf(osPid)).toEqual([]);
  });

  it('reaches the process alone when the group is not its own', async () => {
    const { kernel } = await opened();
    const { osPid: leader } = await foreignProgram('sleep 300 & echo up; wait; sleep 300');
    const [member = 0] = childrenOf(leader);
    const { osPid: stranger } = await foreignProgram(idle());
    for (const osPid of [member, stranger]) {
      const { pid } = await kernel.processes.adopt({ osPid, groupPid: leader });
      expect((await kernel.processes.get(pid)).command?.adopted).toEqual({});
      await kernel.processes.cancel(pid);
      expect((await kernel.processes.result(pid)).outcome.kind).toBe('cancelled');
      expect([isLive(osPid), isLive(leader)]).toEqual([false, true]);
    }
  });

  it('comes at the deadline, and when the parent ends', async () => {
    const { kernel } = await opened();
    const parent = await kernel.processes.spawn({});
    const first = await foreignProgram(idle());
    const second = await foreignProgram(idle());
    const late = await kernel.processes.adopt({ osPid: first.osPid, deadlineMs: 50 });
    const child = await kernel.processes.adopt({ osPid: second.osPid, parent });
    await kernel.processes.exit(parent);
    expect((await kernel.processes.result(late.pid)).outcome.kind).toBe('timed_out');
    expect((await kernel.processes.result(child.pid)).outcome).toMatchObject({ kind: 'parent_exited', by: parent });
    expect([isLive(first.osPid), isLive(second.osPid)]).toEqual([false, false]);
  });

  it('comes at the deadline in a kernel without an executor too', async () => {
    const { kernel } = await opened({ node: { executor: false } });
    const { osPid } = await foreignProgram(idle());
    const { pid } = await kernel.processes.adopt({ osPid, deadlineMs: 50 });
    expect((await kernel.processes.result(pid)).outcome.kind).toBe('timed_out');
    expect(isLive(osPid)).toBe(false);
  });

  it('kills a program that ignores SIGTERM, when its grace is over', async () => {
    const { kernel } = await opened();
    const { osPid, exit } = await foreignProgram(idle("trap '' TERM"));
    const { pid } = await kernel.processes.adopt({ osPid });
    await kernel.processes.cancel(pid, 'enough', { graceMs: 100 });
    expect((await kernel.processes.result(pid)).outcome.kind).toBe('cancelled');
    expect((await exit)[1]).toBe('SIGKILL');
  });

  it('can be told by who started it, with the exit code', async () => {
    const { kernel, store } = await opened();
    const { osPid, exit } = await foreignProgram(idle("trap 'exit 4' TERM"));
    const { pid, complete } = await kernel.processes.adopt({ osPid });
    await kernel.processes.cancel(pid, 'enough');
    await complete({ exitCode: (await exit)[0] ?? 0 });
    expect(await kernel.processes.result(pid)).toMatchObject({
      status: 'killed',
      outcome: { kind: 'cancelled', reason: 'enough', exitCode: 4 },
    });
    await checkInvariants(kernel, store);
  });

  it('holds and continues the process for pause and resume', async () => {
    const { kernel } = await opened();
    const { osPid } = await foreignProgram(idle());
    const { pid } = await kernel.processes.adopt({ osPid });
    await kernel.processes.pause(pid);
    await eventually(() => expect(isStoppedBySignal(osPid)).toBe(true));
    await kernel.processes.resume(pid);
    await eventually(() => expect(isStoppedBySignal(osPid)).toBe(false));
    await kernel.processes.pause(pid);
    await kernel.processes.cancel(pid);
    expect((await kernel.processes.result(pid)).outcome.kind).toBe('cancelled');
  });
});

describe('the interrupt of an adopted program', () => {
  it('is called once instead of the first signal', async () => {
    const { kernel } = await opened();
    const { osPid, child, exit } = await foreignProgram(idle("trap 'exit 9' TERM; trap 'exit 5' USR1"));
    let calls = 0;
    const interrupt = () => {
      calls++;
      child.kill('SIGUSR1');
    };
    const { pid } = await kernel.processes.adopt({ osPid, interrupt });
    await kernel.processes.cancel(pid);
    expect((await exit)[0]).toBe(5);
    expect((await kernel.processes.result(pid)).outcome.kind).toBe('cancelled');
    expect(calls).toBe(1);
  });

  it('that does not help is followed by SIGKILL', async () => {
    const { kernel } = await opened();
    const { osPid, exit } = await foreignProgram(idle());
    let calls = 0;
    const { pid } = await kernel.processes.adopt({ osPid, interrupt: () => void calls++ });
    await kernel.processes.cancel(pid, 'enough', { graceMs: 100 });
    expect((await exit)[1]).toBe('SIGKILL');
    expect((await kernel.processes.result(pid)).outcome.kind).toBe('cancelled');
    expect(calls).toBe(1);
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('no');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no'))],
  ])('that %s is followed by the signal', async (_how, interrupt) => {
    const { kernel } = await opened();
    const { osPid, exit } = await foreignProgram(idle());
    const { pid } = await kernel.processes.adopt({ osPid, interrupt });
    await kernel.processes.cancel(pid, 'enough', { graceMs: 60_000 });
    expect((await exit)[1]).toBe('SIGTERM');
    expect((await kernel.processes.result(pid)).outcome.kind).toBe('cancelled');
  });

  it('reaches a paused program, which is continued', async () => {
    const { kernel } = await opened();
    const { osPid, child, exit } = await foreignProgram(idle("trap 'exit 5' USR1"));
    const { pid } = await kernel.processes.adopt({ osPid, interrupt: () => void child.kill('SIGUSR1') });
    await kernel.processes.pause(pid);
    await eventually(() => expect(isStoppedBySignal(osPid)).toBe(true));
    await kernel.processes.cancel(pid, 'enough', { graceMs: 60_000 });
    expect((await exit)[0]).toBe(5);
    await kernel.processes.result(pid);
  });

  it('is not called by kill, and not by a kernel that was opened later', async () => {
    const { kernel, store } = await opened();
    const killed = await foreignProgram(idle());
    const left = await foreignProgram(idle());
    let calls = 0;
    const interrupt = () => void calls++;
    const first = await kernel.processes.adopt({ osPid: killed.osPid, interrupt });
    const second = await kernel.processes.adopt({ osPid: left.osPid, interrupt });
    await kernel.processes.kill(first.pid);
    await kernel.processes.result(first.pid);
    await kernel.shutdown();
    const next = await openKernel({ store });
    await next.processes.cancel(second.pid);
    expect((await next.processes.result(second.pid)).outcome.kind).toBe('cancelled');
    expect((await left.exit)[1]).toBe('SIGTERM');
    expect(calls).toBe(0);
  });

  it('is a function', async () => {
    const { kernel } = await opened();
    const { osPid } = await foreignProgram(idle());
    for (const interrupt of ['SIGINT', {}, 5, null])
      expect((await refusal(kernel.processes.adopt({ osPid, interrupt } as never))).code).toBe('INVALID_INPUT');
    expect((await kernel.processes.adopt({ osPid, interrupt: undefined } as never)).pid).toMatch(/^p_/);
  });
});

describe('the end of a kernel', () => {
  it('leaves an adopted program alone; the next one watches it, and takes checkpoints and its end by pid', async () => {
    const { kernel, store } = await opened();
    const { osPid } = await foreignProgram(idle());
    const { pid } = await kernel.processes.adopt({ osPid, owner: { session: 'a' } });
    expect((await kernel.shutdown()).released).toEqual([pid]);
    expect(isLive(osPid)).toBe(true);
    const next = await openKernel({ store });
    expect(next.recovery).toMatchObject({ adopted: 1, abandoned: {} });
    expect(await next.processes.get(pid)).toMatchObject({ status: 'running', node: next.nodeId });
    await next.processes.checkpoint(pid, { owner: { session: 'b' } });
    await next.processes.complete(pid, { exitCode: 0 });
    expect(await next.processes.get(pid)).toMatchObject({ status: 'exited', owner: { session: 'b' } });
    expect((await refusal(next.processes.complete(pid))).code).toBe('PROCESS_TERMINATED');
    expect(isLive(osPid)).toBe(true);
    await checkInvariants(next, store);
  });

  it('does not keep the next one from stopping it, also in its group', async () => {
    const { kernel, store } = await opened();
    const { osPid } = await foreignProgram('sleep 300 & echo up; wait');
    const { pid } = await kernel.processes.adopt({ osPid, groupPid: osPid });
    await kernel.shutdown();
    const next = await openKernel({ store });
    await next.processes.cancel(pid, 'enough');
    expect((await next.processes.result(pid)).outcome).toMatchObject({ kind: 'cancelled', reason: 'enough' });
    expect(membersOf(osPid)).toEqual([]);
  });

  it('is followed by one that goes on with a stop that was ordered meanwhile', async () => {
    const { kernel, store } = await opened();
    const { osPid } = await foreignProgram(idle());
    const { pid } = await kernel.processes.adopt({ osPid });
    await kernel.shutdown();
    const looker = await openKernel({ store, node: { executor: false } });
    expect((await looker.processes.cancel(pid, 'meanwhile')).delivered).toEqual([pid]);
    expect(isLive(osPid)).toBe(true);
    const next = await openKernel({ store });
    expect((await next.processes.result(pid)).outcome).toMatchObject({ kind: 'cancelled', reason: 'meanwhile' });
    expect(isLive(osPid)).toBe(false);
  });

  it('is followed by one that finds the end of the program', async () => {
    const { kernel, store } = await opened();
    const { osPid, child, exit } = await foreignProgram(idle());
    const { pid } = await kernel.processes.adopt({ osPid });
    await kernel.shutdown();
    child.kill('SIGKILL');
    await exit;
    const next = await openKernel({ store });
    expect(next.recovery.abandoned).toEqual({ pid_gone: 1 });
    expect((await next.processes.get(pid)).outcome).toMatchObject({ kind: 'abandoned', reason: 'pid_gone' });
    await checkInvariants(next, store);
  });
});

describe('adopting', () => {
  async function refusedFacts(kernel: Kernel, spec: Partial<AdoptSpec>) {
    const before = (await kernel.processes.list()).items.length;
    const answer = await refusal(kernel.processes.adopt(spec as AdoptSpec));
    expect((await kernel.processes.list()).items).toHaveLength(before);
    return answer.code;
  }

  it('refuses init, this program, those that it runs under, and its group', async () => {
    const { kernel } = await opened();
    const { osPid } = await foreignProgram(idle());
    for (const wrong of [0, 1, -1, 1.5, 2 ** 40, '7', process.pid, process.ppid])
      expect([wrong, await refusedFacts(kernel, { osPid: wrong as number })]).toEqual([wrong, 'INVALID_INPUT']);
    const ownGroup = groupOf(process.pid);
    expect(await refusedFacts(kernel, { osPid: ownGroup })).toBe('INVALID_INPUT');
    expect(await refusedFacts(kernel, { osPid, groupPid: ownGroup })).toBe('INVALID_INPUT');
    expect(await refusedFacts(kernel, {})).toBe('INVALID_INPUT');
    expect(await refusedFacts(kernel, { osPid, unknown: 1 } as never)).toBe('INVALID_INPUT');
  });

  it('takes a child of this program that is in its group, and signals that alone', async () => {
    const { kernel } = await opened();
    const { osPid, exit } = await foreignProgram(idle(), { detached: false });
    const { pid } = await kernel.processes.adopt({ osPid });
    await kernel.processes.cancel(pid);
    expect((await exit)[1]).toBe('SIGTERM');
    await kernel.processes.result(pid);
  });

  it('refuses one that is not there, or has ended and was not collected', async () => {
    const { kernel } = await opened();
    const { osPid, child, exit } = await foreignProgram(idle());
    const zombie = await foreignProgram('sh -c "echo $$; exit 0" & echo up; exec sleep 300');
    child.kill('SIGKILL');
    await exit;
    expect(await refusedFacts(kernel, { osPid })).toBe('INVALID_INPUT');
    const ended = await eventually(() => {
      const [found] = childrenOf(zombie.osPid);
      expect(isLive(found ?? 0)).toBe(false);
      return found ?? 0;
    });
    expect(await refusedFacts(kernel, { osPid: ended })).toBe('INVALID_INPUT');
  });

  it('refuses one that is a process already, however it came to be one, until that has ended', async () => {
    const { kernel, store } = await opened();
    const { osPid } = await foreignProgram(idle());
    const { pid, complete } = await kernel.processes.adopt({ osPid });
    expect(await refusedFacts(kernel, { osPid })).toBe('INVALID_INPUT');
    const second = await openKernel({ store });
    expect(await refusedFacts(second, { osPid })).toBe('INVALID_INPUT');
    const runner = await kernel.processes.spawn({ capabilities: [{ resource: 'command:**', rights: ['call'] }] });
    const command = await kernel.as(runner).run({ argv: ['sleep', '300'], background: true });
    const { command: facts } = await kernel.processes.get(command.pid);
    expect(await refusedFacts(kernel, { osPid: facts?.osPid ?? 0 })).toBe('INVALID_INPUT');
    await kernel.processes.kill(command.pid);
    await complete();
    expect((await kernel.processes.adopt({ osPid })).pid).not.toBe(pid);
  });

  it('refuses a start that is off by more than 2 s', async () => {
    const { kernel } = await opened();
    const { osPid } = await foreignProgram(idle());
    expect(await refusedFacts(kernel, { osPid, startedAt: Date.now() - 60_000 })).toBe('INVALID_INPUT');
    expect(await refusedFacts(kernel, { osPid, startedAt: Date.now() + 60_000 })).toBe('INVALID_INPUT');
    const { pid, complete } = await kernel.processes.adopt({ osPid });
    const { startedAt = 0 } = await kernel.processes.get(pid);
    await complete();
    expect(await refusedFacts(kernel, { osPid, startedAt: startedAt - 2_500 })).toBe('INVALID_INPUT');
    expect(await refusedFacts(kernel, { osPid, startedAt: startedAt + 2_500 })).toBe('INVALID_INPUT');
    await (await kernel.processes.adopt({ osPid, startedAt: startedAt - 1_500 })).complete();
    await (await kernel.processes.adopt({ osPid, startedAt: startedAt + 1_500 })).complete();
  });

  it('takes the start by the clock of the kernel', async () => {
    const dayMs = 86_400_000;
    const { kernel } = await opened({ clock: { now: () => Date.now() + dayMs } });
    const { osPid } = await foreignProgram(idle());
    expect(await refusedFacts(kernel, { osPid, startedAt: Date.now() })).toBe('INVALID_INPUT');
    const { pid, complete } = await kernel.processes.adopt({ osPid });
    const { startedAt = 0 } = await kernel.processes.get(pid);
    expect(startedAt).toBeGreaterThan(Date.now());
    await complete();
    await (await kernel.processes.adopt({ osPid, startedAt })).complete();
  });

  it.runIf(process.getuid?.() === 0)("refuses another user's", async () => {
    const { kernel } = await opened();
    const { osPid } = await foreignProgram(idle(), { uid: 65_534 });
    expect(await refusedFacts(kernel, { osPid })).toBe('INVALID_INPUT');
  });

  it('refuses a parent that has ended, is being stopped or has no room', async () => {
    const { kernel } = await opened();
    const { osPid } = await foreignProgram(idle());
    const ended = await kernel.processes.spawn({});
    await kernel.processes.exit(ended);
    expect(await refusedFacts(kernel, { osPid, parent: ended })).toBe('PROCESS_TERMINATED');
    expect(await refusedFacts(kernel, { osPid, parent: 'p_none' })).toBe('NO_SUCH_PROCESS');
    const full = await kernel.processes.spawn({ budget: { children: 0 } });
    expect(await refusedFacts(kernel, { osPid, parent: full })).toBe('BUDGET_EXCEEDED');
    const parent = await kernel.processes.spawn({ budget: { children: 1 } });
    expect((await kernel.processes.adopt({ osPid, parent })).pid).toMatch(/^p_/);
  });

  it('is for the host only', async () => {
    const { kernel } = await opened();
    const pid = await kernel.processes.spawn({});
    for (const name of ['adopt', 'checkpoint', 'complete', 'setOwner']) expect(kernel.as(pid)).not.toHaveProperty(name);
  });
});
