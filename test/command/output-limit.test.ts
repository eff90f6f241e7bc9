import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Pid } from '../../src/index.js';
import {
  anyCommand,
  type CommandFixture,
  commandFixture,
  findOsProcesses,
  uniqueSeconds,
} from '../support/command-fixture.js';
import { checkInvariants } from '../support/invariants.js';
import { refusal } from '../support/kernel.js';
import { isAlive } from '../support/os-processes.js';

const limit = 2_000_000;
const tolerance = 1_048_576;
/** Far more than a limit; the commands end by themselves where nothing holds them. */
const flood = 60_000_000;

const limited = () => commandFixture({ budget: { outputBytes: limit } });

/** The bytes of all output files of a kernel. */
function bytesOnDisk({ store }: CommandFixture): number {
  const folder = `${store}.state/output`;
  return readdirSync(folder).reduce((sum, name) => sum + statSync(path.join(folder, name)).size, 0);
}

/** Keeps the event loop from turning. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

function childrenOf(parent: number, text: string): number[] {
  return findOsProcesses(text).filter((pid) => {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent;
  });
}

/** A command that waits for a file `go` before it floods. */
async function startFlood({ face }: CommandFixture, redirect = '', spec: object = {}): Promise<Pid> {
  const script = `until [ -e go ]; do sleep 0.02; done; head -c ${flood} /dev/zero ${redirect}; echo done`;
  return (await face.run({ argv: ['sh', '-c', script], background: true, ...spec })).pid;
}

describe('a limit of outputBytes', () => {
  it('gives everything that is written below it, on both streams and in order', async () => {
    const set = await limited();
    const script =
      'i=0; while [ $i -lt 20000 ]; do echo "line $i"; i=$((i+1)); done; echo wrong >&2; echo more > /dev/stdout';
    const { pid, stderr, exitCode, outputFile } = await set.face.run({ argv: ['sh', '-c', script] });
    const lines = Array.from({ length: 20_000 }, (_, n) => `line ${n}\n`).join('');
    expect({ stderr, exitCode }).toEqual({ stderr: 'wrong\n', exitCode: 0 });
    expect(readFileSync(outputFile, 'utf8')).toBe(`${lines}more\n`);
    expect((await set.kernel.processes.budget(set.pid)).outputBytes.used).toBe(lines.length + 5 + 6);
    expect((await set.kernel.processes.get(pid)).outcome?.kind).toBe('completed');
    expect(statSync(outputFile).mode & 0o777).toBe(0o600);
    expect(readdirSync(path.dirname(outputFile)).filter((name) => name.endsWith('.pipe'))).toEqual([]);
    await checkInvariants(set.kernel, set.store);
  });

  it('is what is written in all, also to the last byte', async () => {
    const set = await commandFixture({ budget: { outputBytes: 1_000 } });
    const exact = await set.face.run({ argv: ['sh', '-c', 'head -c 600 /dev/zero; head -c 400 /dev/zero >&2'] });
    expect((await set.kernel.processes.get(exact.pid)).outcome?.kind).toBe('completed');
    expect((await set.kernel.processes.budget(set.pid)).outputBytes).toMatchObject({ left: 0, overrun: 0 });
    const more = await set.face.run({ argv: ['sh', '-c', 'printf x; sleep 0.1'] });
    expect((await set.kernel.processes.get(more.pid)).outcome).toMatchObject({
      kind: 'budget_exhausted',
      reason: 'outputBytes',
    });
    await checkInvariants(set.kernel, set.store);
  });

  for (const redirect of ['', '>&2', '> /dev/stderr']) {
    it(`holds while the event loop does not turn (${redirect || 'stdout'})`, async () => {
      const set = await limited();
      const pid = await startFlood(set, redirect);
      writeFileSync(path.join(set.workspace, 'go'), '');
      block(1_500);
      expect(bytesOnDisk(set)).toBeLessThanOrEqual(limit + tolerance);
      const { outcome } = await set.kernel.processes.result(pid);
      expect(outcome).toMatchObject({ kind: 'budget_exhausted', reason: 'outputBytes', signal: 'SIGKILL' });
      expect(bytesOnDisk(set)).toBeLessThanOrEqual(limit + tolerance);
      const { used, left, overrun } = (await set.kernel.processes.budget(set.pid)).outputBytes;
      expect({ left, overrun }).toEqual({ left: 0, overrun: used - limit });
      await checkInvariants(set.kernel, set.store);
    });
  }

  it('holds for commands that share it, all of them together', async () => {
    const set = await limited();
    const child = await set.kernel.processes.spawnChild(set.pid, {});
    await set.kernel.capabilities.grant(child, anyCommand);
    const other = set.kernel.as(child);
    const pids = [
      await startFlood(set),
      await startFlood(set, '>&2'),
      await startFlood({ ...set, face: other }),
      await startFlood({ ...set, face: other }),
    ];
    writeFileSync(path.join(set.workspace, 'go'), '');
    block(1_500);
    expect(bytesOnDisk(set)).toBeLessThanOrEqual(limit + tolerance);
    for (const pid of pids) {
      expect((await set.kernel.processes.result(pid)).outcome.kind).toBe('budget_exhausted');
    }
    expect(bytesOnDisk(set)).toBeLessThanOrEqual(limit + tolerance);
    await checkInvariants(set.kernel, set.store);
  });

  it('of which a part is used already leaves the rest', async () => {
    const set = await limited();
    await set.kernel.processes.charge(set.pid, { outputBytes: limit - 1_000 });
    const pid = await startFlood(set);
    writeFileSync(path.join(set.workspace, 'go'), '');
    await set.kernel.processes.result(pid);
    expect(bytesOnDisk(set)).toBeLessThanOrEqual(1_000 + tolerance);
  });

  it('that is raised while a command runs lets it go on', async () => {
    const set = await commandFixture({ budget: { outputBytes: 1_000 } });
    const script = 'echo up; until [ -e go ]; do sleep 0.02; done; head -c 500000 /dev/zero';
    const { pid } = await set.face.run({ argv: ['sh', '-c', script], background: true });
    await set.kernel.processes.waitOutput(pid, 'up');
    await set.kernel.processes.setBudget(set.pid, { outputBytes: 1_000_000 });
    writeFileSync(path.join(set.workspace, 'go'), '');
    expect((await set.kernel.processes.result(pid)).outcome.kind).toBe('completed');
    expect(bytesOnDisk(set)).toBe(500_003);
    await checkInvariants(set.kernel, set.store);
  });

  it('is held by one process for all commands, which ends with the kernel', async () => {
    const set = await limited();
    const before = childrenOf(process.pid, 'roomOf');
    await set.face.run({ argv: ['echo', 'one'] });
    await set.face.run({ argv: ['echo', 'two'] });
    const copiers = childrenOf(process.pid, 'roomOf').filter((pid) => !before.includes(pid));
    expect(copiers).toHaveLength(1);
    await set.kernel.shutdown();
    await expect.poll(() => isAlive(copiers[0] ?? 0)).toBe(false);
  });

  it('costs no process where there is none', async () => {
    const before = childrenOf(process.pid, 'roomOf');
    const set = await commandFixture();
    await set.face.run({ argv: ['echo', 'one'] });
    expect(childrenOf(process.pid, 'roomOf')).toEqual(before);
  });

  it('holds when the process that copies is killed, and nothing is lost', async () => {
    const set = await limited();
    const before = childrenOf(process.pid, 'roomOf');
    const script = 'echo up; until [ -e go ]; do echo tick; sleep 0.02; done; echo end';
    const { pid } = await set.face.run({ argv: ['sh', '-c', script], background: true });
    await set.kernel.processes.waitOutput(pid, 'tick');
    const [copier = 0] = childrenOf(process.pid, 'roomOf').filter((each) => !before.includes(each));
    process.kill(copier, 'SIGKILL');
    await expect.poll(() => isAlive(copier)).toBe(false);
    const { next } = await set.kernel.processes.waitOutput(pid, 'tick');
    await set.kernel.processes.waitOutput(pid, 'tick', { offset: next });
    writeFileSync(path.join(set.workspace, 'go'), '');
    expect(await set.kernel.processes.result(pid)).toMatchObject({ status: 'exited' });
    expect((await set.kernel.processes.readOutput(pid)).text).toMatch(/^up\n(tick\n)+end\n$/);
  });

  it('does not hide what has left its command and kept its output only', async () => {
    const set = await limited();
    const seconds = uniqueSeconds();
    const perl = `use POSIX; POSIX::close($_) for 3..100; exec "sleep", "${seconds}"`;
    const script = `env -i setsid perl -e '${perl}' &\nuntil [ -e go ]; do sleep 0.02; done`;
    const { pid } = await set.face.run({ argv: ['sh', '-c', script], background: true });
    await expect.poll(() => findOsProcesses(`sleep ${seconds}`).length).toBe(1);
    writeFileSync(path.join(set.workspace, 'go'), '');
    expect((await set.kernel.processes.result(pid)).outcome.kind).toBe('completed');
    expect(findOsProcesses(seconds)).toEqual([]);
  });

  it('leaves nothing of a command that is not started', async () => {
    const set = await limited();
    expect((await refusal(set.face.run({ argv: ['./missing'] }))).code).toBe('TOOL_FAILED');
    const folder = `${set.store}.state/output`;
    const names = existsSync(folder) ? readdirSync(folder) : [];
    expect(names.filter((name) => name.endsWith('.pipe'))).toEqual([]);
  });

  it('holds for a command that survives its kernel, which has all of its output afterwards', async () => {
    const set = await limited();
    const script = 'echo up; until [ -e go ]; do sleep 0.02; done; head -c 100000 /dev/zero; echo end';
    const { pid } = await set.face.run({ argv: ['sh', '-c', script], background: true, survive: true });
    await set.kernel.processes.waitOutput(pid, 'up');
    await set.kernel.shutdown();
    const flooding = await commandFixture({}, { store: set.store, workspace: set.workspace });
    writeFileSync(path.join(set.workspace, 'go'), '');
    await flooding.kernel.processes.result(pid);
    expect(bytesOnDisk(set)).toBe(100_000 + 3 + 4);
    expect((await flooding.kernel.processes.budget(set.pid)).outputBytes.used).toBe(100_000 + 3 + 4);
    await checkInvariants(flooding.kernel, set.store);
  });
});
