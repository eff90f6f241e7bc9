import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { describe, expect, it } from 'vitest';
import type { Kernel, Pid } from '../../src/index.js';
import {
  type CommandFixture,
  commandFixture,
  findOsProcesses,
  isStoppedBySignal,
  uniqueSeconds,
} from '../support/command-fixture.js';
import { checkInvariants } from '../support/invariants.js';
import { refusal } from '../support/kernel.js';

const ignoring = "trap '' TERM INT HUP;";

/** A command in the background that has said that it is up. */
async function started({ kernel, face }: CommandFixture, script: string, spec: object = {}): Promise<Pid> {
  const { pid } = await face.run({ argv: ['sh', '-c', `${script}`], background: true, ...spec });
  expect(await kernel.processes.waitOutput(pid, 'up')).toMatchObject({ matched: true });
  return pid;
}

async function endedWithinMs(kernel: Kernel, pid: Pid): Promise<number> {
  const from = performance.now();
  await kernel.processes.result(pid);
  return performance.now() - from;
}

/** The rule is two seconds; a machine that is busy gets ten times that. What ignores its end would never end by itself. */
const withinMs = 20_000;

describe('a command that is cancelled', () => {
  it('is asked to end first, and ends as cancelled', async () => {
    const set = await commandFixture();
    const seconds = uniqueSeconds();
    const pid = await started(set, `trap 'echo bye; exit 5' TERM; echo up; sleep ${seconds} & wait`);
    expect(await set.kernel.processes.cancel(pid, 'enough')).toEqual({
      matched: 1,
      delivered: [pid],
      alreadyTerminal: [],
      refused: [],
      stale: [],
      unchanged: [],
      unavailable: [],
    });
    const { status, outcome, value } = await set.kernel.processes.result(pid);
    expect({ status, outcome }).toEqual({
      status: 'killed',
      outcome: { kind: 'cancelled', by: 'host', reason: 'enough', exitCode: 5, signal: null },
    });
    expect(value).toMatchObject({ stdout: 'up\nbye\n', exitCode: 5, timedOut: false });
    expect(findOsProcesses(seconds)).toEqual([]);
    await checkInvariants(set.kernel, set.store);
  });

  it('and ignores it is gone within two seconds, with its grandchildren', async () => {
    const set = await commandFixture();
    const [one, two] = [uniqueSeconds(), uniqueSeconds()];
    const pid = await started(set, `${ignoring} (${ignoring} sleep ${one}) & echo up; sleep ${two}; sleep ${two}`);
    await expect.poll(() => findOsProcesses(one).length + findOsProcesses(two).length).toBeGreaterThanOrEqual(2);
    await set.kernel.processes.cancel(pid);
    expect(await endedWithinMs(set.kernel, pid)).toBeLessThan(withinMs);
    expect([...findOsProcesses(one), ...findOsProcesses(two)]).toEqual([]);
    expect((await set.kernel.processes.get(pid)).outcome).toMatchObject({ kind: 'cancelled', signal: 'SIGKILL' });
    await checkInvariants(set.kernel, set.store);
  });

  it('is gone with what has left its group and session, and its family', async () => {
    const set = await commandFixture();
    const [one, two] = [uniqueSeconds(), uniqueSeconds()];
    const away = `setsid sh -c "${ignoring} setsid sleep ${one} & exit" & setsid setsid sh -c "${ignoring} sleep ${two}; :" &`;
    const pid = await started(set, `${away} sleep 0.3; echo up; sleep ${uniqueSeconds()}`);
    await expect.poll(() => findOsProcesses(`sleep ${one}`).length).toBeGreaterThan(0);
    await set.kernel.processes.cancel(pid);
    expect(await endedWithinMs(set.kernel, pid)).toBeLessThan(withinMs);
    expect([...findOsProcesses(one), ...findOsProcesses(two)]).toEqual([]);
  });

  it('gets the grace that is given, and no less', async () => {
    const set = await commandFixture();
    const seconds = uniqueSeconds();
    const pid = await started(set, `trap 'sleep 1.5; echo clean; exit 0' TERM; echo up; sleep ${seconds} & wait`);
    await set.kernel.processes.signal(pid, 'cancel', { graceMs: 60_000 });
    const { outcome, value } = await set.kernel.processes.result(pid);
    expect(outcome).toMatchObject({ kind: 'cancelled', exitCode: 0 });
    expect(value).toMatchObject({ stdout: 'up\nclean\n' });
  });

  it('leaves no message in the mailbox of its parent, and one that ends by itself does', async () => {
    const set = await commandFixture();
    const seconds = uniqueSeconds();
    const stopped = await started(set, `echo up; sleep ${seconds}`);
    await set.kernel.processes.cancel(stopped);
    await set.kernel.processes.result(stopped);
    const { pid } = await set.face.run({ argv: ['sh', '-c', 'echo done; exit 3'], background: true });
    const message = await set.face.receive({ timeoutMs: 60_000 });
    expect(message).toMatchObject({
      from: pid,
      kind: 'command.ended',
      body: { pid, outcome: 'failed', exitCode: 3, signal: null, stdout: 'done\n' },
    });
    expect((await refusal(set.face.receive({ timeoutMs: 0 }))).code).toBe('WAIT_TIMEOUT');
    await checkInvariants(set.kernel, set.store);
  });

  it('after it has ended is told so, and its result stays', async () => {
    const { kernel, face } = await commandFixture();
    const result = await face.run({ argv: ['echo', 'kept'] });
    for (const signal of ['cancel', 'kill'] as const) {
      expect(await kernel.processes.signal(result.pid, signal)).toMatchObject({
        matched: 1,
        delivered: [],
        alreadyTerminal: [result.pid],
      });
    }
    expect(await kernel.processes.result(result.pid)).toMatchObject({ status: 'exited', value: result });
  });
});

describe('a command that is killed', () => {
  it('is stopping until nobody is left, and is then killed', async () => {
    const set = await commandFixture();
    const seconds = uniqueSeconds();
    const pid = await started(set, `${ignoring} (${ignoring} sleep ${seconds}) & echo up; sleep ${seconds}`);
    await set.kernel.processes.kill(pid, 'now');
    const { status, outcome } = await set.kernel.processes.result(pid);
    expect({ status, outcome }).toEqual({
      status: 'killed',
      outcome: { kind: 'killed', by: 'host', reason: 'now', exitCode: null, signal: 'SIGKILL' },
    });
    expect(findOsProcesses(seconds)).toEqual([]);
    await checkInvariants(set.kernel, set.store);
  });

  it('while it is being stopped has no more time', async () => {
    const set = await commandFixture();
    const seconds = uniqueSeconds();
    const pid = await started(set, `${ignoring} echo up; sleep ${seconds}; sleep ${seconds}`);
    await set.kernel.processes.signal(pid, 'cancel', { graceMs: 600_000 });
    expect((await set.kernel.processes.get(pid)).status).toBe('stopping');
    expect((await set.kernel.processes.cancel(pid)).refused).toMatchObject([{ pid, code: 'INVALID_TRANSITION' }]);
    await set.kernel.processes.kill(pid);
    expect((await set.kernel.processes.result(pid)).outcome).toMatchObject({ kind: 'killed', signal: 'SIGKILL' });
    expect(findOsProcesses(seconds)).toEqual([]);
    await checkInvariants(set.kernel, set.store);
  });
});

describe('a command', () => {
  it('is held by pause and goes on by resume', async () => {
    const set = await commandFixture();
    const seconds = uniqueSeconds();
    const pid = await started(set, `echo up; exec sleep ${seconds}`);
    await expect.poll(() => findOsProcesses(seconds).length).toBe(1);
    const [osPid = 0] = findOsProcesses(seconds);
    expect((await set.kernel.processes.pause(pid)).delivered).toEqual([pid]);
    expect((await set.kernel.processes.get(pid)).status).toBe('paused');
    await expect.poll(() => isStoppedBySignal(osPid)).toBe(true);
    await set.kernel.processes.resume(pid);
    await expect.poll(() => isStoppedBySignal(osPid)).toBe(false);
    expect((await set.kernel.processes.get(pid)).status).toBe('running');
    await set.kernel.processes.pause(pid);
    await set.kernel.processes.cancel(pid);
    expect((await set.kernel.processes.result(pid)).outcome).toMatchObject({ kind: 'cancelled', signal: 'SIGTERM' });
    await checkInvariants(set.kernel, set.store);
  });

  it('ends with its parent, and so do all that the parent has started', async () => {
    const set = await commandFixture();
    const seconds = [uniqueSeconds(), uniqueSeconds(), uniqueSeconds()];
    const pids = await Promise.all(seconds.map((each) => started(set, `echo up; sleep ${each}`)));
    await set.kernel.processes.exit(set.pid);
    for (const pid of pids) {
      expect((await set.kernel.processes.result(pid)).outcome).toMatchObject({ kind: 'parent_exited', by: set.pid });
    }
    expect(seconds.flatMap(findOsProcesses)).toEqual([]);
    await checkInvariants(set.kernel, set.store);
  });

  it('whose process the host ends or gives up is not left running', async () => {
    const set = await commandFixture();
    const [one, two] = [uniqueSeconds(), uniqueSeconds()];
    const first = await started(set, `${ignoring} echo up; sleep ${one}; sleep ${one}`);
    const second = await started(set, `echo up; sleep ${two}`);
    await set.kernel.processes.exit(first, { result: { given: 'by the host' } });
    await set.kernel.processes.abandon(second, 'nobody cares');
    expect(await set.kernel.processes.result(first)).toMatchObject({
      status: 'exited',
      value: { given: 'by the host' },
    });
    await expect.poll(() => [...findOsProcesses(one), ...findOsProcesses(two)]).toEqual([]);
    await checkInvariants(set.kernel, set.store);
  });

  it('that runs takes no other program', async () => {
    const set = await commandFixture();
    const seconds = uniqueSeconds();
    const pid = await started(set, `echo up; sleep ${seconds}`);
    expect((await refusal(set.kernel.processes.exec(pid, { image: 'base' }))).code).toBe('INVALID_TRANSITION');
    expect(findOsProcesses(seconds).length).toBeGreaterThan(0);
  });

  it('loses nothing that its grandchildren wrote before the end, and stops those that go on', async () => {
    const { face, workspace } = await commandFixture();
    writeFileSync(path.join(workspace, 'ticks'), '');
    const script =
      '(while :; do echo tick >> ticks; sleep 0.02; done) & echo a; until [ -s ticks ]; do sleep 0.02; done; echo b';
    const { stdout } = await face.run({ argv: ['sh', '-c', script] });
    expect(stdout).toBe('a\nb\n');
    const after = readFileSync(path.join(workspace, 'ticks'), 'utf8').length;
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(after).toBeGreaterThan(0);
    expect(readFileSync(path.join(workspace, 'ticks'), 'utf8').length).toBe(after);
  });

  it('that may survive leaves its grandchildren alone', async () => {
    const { face } = await commandFixture();
    const seconds = uniqueSeconds();
    await face.run({ argv: ['sh', '-c', `sleep ${seconds} & echo up`], survive: true });
    expect(findOsProcesses(seconds)).toHaveLength(1);
  });
});

describe('a scope', () => {
  it('reaches the commands of one session and no others, and many at once', async () => {
    const set = await commandFixture();
    const [mine, other] = [uniqueSeconds(), uniqueSeconds()];
    const script = (seconds: string) => `${ignoring} echo up; sleep ${seconds}; sleep ${seconds}`;
    const owned = (session: string, turn: string) => ({ owner: { session, turn } });
    const pids = await Promise.all([1, 2, 3].map((n) => started(set, script(mine), owned('s1', `t${n}`))));
    const stays = await started(set, script(other), owned('s2', 't1'));
    const from = performance.now();
    const report = await set.kernel.processes.signal({ owner: { session: 's1' } }, 'cancel');
    expect({ ...report, delivered: [...report.delivered].sort() }).toEqual({
      matched: 3,
      delivered: [...pids].sort(),
      alreadyTerminal: [],
      refused: [],
      stale: [],
      unchanged: [],
      unavailable: [],
    });
    for (const pid of pids) await set.kernel.processes.result(pid);
    expect(performance.now() - from).toBeLessThan(withinMs);
    expect(findOsProcesses(mine)).toEqual([]);
    expect(findOsProcesses(other).length).toBeGreaterThan(0);
    expect((await set.kernel.processes.get(stays)).status).toBe('running');
    expect((await refusal(set.kernel.processes.signal({ owner: {} }, 'cancel'))).code).toBe('INVALID_INPUT');
    expect((await refusal(set.kernel.processes.signal({}, 'cancel'))).code).toBe('INVALID_INPUT');
  });
});
