import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Kernel, OsGroups, type Pid } from '../../src/index.js';
import type { SystemOsGroups } from '../../src/runtime/os/os-groups.js';
import { type CommandFixture, commandFixture, findOsProcesses, uniqueSeconds } from '../support/command-fixture.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, openKernel, tempFolder } from '../support/kernel.js';
import { isAlive } from '../support/os-processes.js';

const closeAllButOutput = 'use POSIX; POSIX::close($_) for 3..100;';
const closeAll = 'use POSIX; POSIX::close($_) for 0..100;';

function nodeDaemon(seconds: string): string {
  const options = "{ detached: true, stdio: 'ignore', env: {} }";
  const code = `require('node:child_process').spawn('/bin/sleep', ['${seconds}'], ${options}).unref()`;
  return `'${process.execPath}' -e "${code}"`;
}

/** Ways to start a program that leaves the group, the session, the tree and the environment of its command. */
const escapes: Readonly<Record<string, (seconds: string) => string>> = {
  'in a session of its own and without its environment': (seconds) => `env -i setsid sleep ${seconds} &`,
  'by a parent that ends at once': (seconds) => `(env -i setsid sleep ${seconds} &)`,
  'by a double fork': (seconds) => `env -i setsid sh -c 'setsid sleep ${seconds} & exit' &`,
  'by setsid -f': (seconds) => `env -i setsid -f sleep ${seconds}`,
  'and ignores what it is asked': (seconds) =>
    `env -i nohup setsid sh -c "trap '' TERM HUP INT; sleep ${seconds}; :" > /dev/null &`,
  'and has other input and output': (seconds) => `env -i setsid sleep ${seconds} < /dev/null > /dev/null 2>&1 &`,
  'and has no input and output': (seconds) => `env -i setsid sleep ${seconds} <&- >&- 2>&- &`,
  'and has nothing open but its output': (seconds) =>
    `env -i setsid perl -e '${closeAllButOutput} exec "sleep", "${seconds}"' &`,
  'by a program of Node.js, detached': nodeDaemon,
};

/** A command in the background that starts a program in this way, and ends when there is a file `go`. */
async function startEscape(
  { face }: Pick<CommandFixture, 'face'>,
  start: (seconds: string) => string,
  seconds: string,
  spec: object = {},
): Promise<Pid> {
  const script = `${start(seconds)}\nuntil [ -e go ]; do sleep 0.02; done`;
  const { pid } = await face.run({ argv: ['sh', '-c', script], background: true, ...spec });
  await expect.poll(() => findSleeps(seconds).length).toBe(1);
  return pid;
}

/** Without the shells that have the text in their command lines. */
function findSleeps(seconds: string): number[] {
  return findOsProcesses(`sleep ${seconds}`).filter((pid) => {
    return /^\S*sleep\0[^\0]+\0$/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
  });
}

function go(workspace: string): void {
  writeFileSync(path.join(workspace, 'go'), '');
}

describe.runIf(process.platform === 'linux')('a program that a command has started', () => {
  for (const [how, start] of Object.entries(escapes)) {
    it(`${how} does not outlive the cancellation`, async () => {
      const set = await commandFixture();
      const seconds = uniqueSeconds();
      const pid = await startEscape(set, start, seconds);
      await set.kernel.processes.cancel(pid);
      expect((await set.kernel.processes.result(pid)).outcome.kind).toBe('cancelled');
      expect(findOsProcesses(seconds)).toEqual([]);
      await checkInvariants(set.kernel, set.store);
    });

    it(`${how} does not outlive the command, which is then as it ended`, async () => {
      const set = await commandFixture();
      const seconds = uniqueSeconds();
      const pid = await startEscape(set, start, seconds);
      go(set.workspace);
      expect((await set.kernel.processes.result(pid)).outcome).toMatchObject({ kind: 'completed', exitCode: 0 });
      expect(findOsProcesses(seconds)).toEqual([]);
    });
  }

  it('is left alone where the command may survive, and goes with it when that is killed', async () => {
    const set = await commandFixture();
    const [left, killed] = [uniqueSeconds(), uniqueSeconds()];
    const start = (seconds: string) => `env -i setsid sleep ${seconds} &`;
    const first = await startEscape(set, start, left, { survive: true });
    go(set.workspace);
    await set.kernel.processes.result(first);
    expect(findOsProcesses(left)).toHaveLength(1);
    const other = await commandFixture();
    const second = await startEscape(other, start, killed, { survive: true });
    await other.kernel.processes.kill(second);
    await other.kernel.processes.result(second);
    expect(findOsProcesses(killed)).toEqual([]);
    expect(findOsProcesses(left)).toHaveLength(1);
  });

  it('does not outlive the kernel that shuts down', async () => {
    const set = await commandFixture();
    const seconds = uniqueSeconds();
    await startEscape(set, (each) => `(env -i setsid sleep ${each} > /dev/null 2>&1 &)`, seconds);
    await set.kernel.shutdown();
    expect(findOsProcesses(seconds)).toEqual([]);
  });

  it('and that has closed everything is known from when it was in the tree', async () => {
    const set = await commandFixture();
    const seconds = uniqueSeconds();
    const start = (each: string) => `env -i setsid perl -e '${closeAll} exec "sleep", "${each}"' &`;
    const pid = await startEscape(set, start, seconds);
    const groups = set.kernel.container.get(OsGroups) as SystemOsGroups;
    const looks = groups.sweepCount + 2;
    await expect.poll(() => groups.sweepCount).toBeGreaterThanOrEqual(looks);
    go(set.workspace);
    expect((await set.kernel.processes.result(pid)).outcome.kind).toBe('completed');
    expect(findOsProcesses(seconds)).toEqual([]);
  });

  it('is found by the next kernel when its own is gone with everything else of the command', async () => {
    const set = await commandFixture({}, { store: await newStore() });
    const seconds = uniqueSeconds();
    const start = (each: string) => `(env -i setsid sleep ${each} > /dev/null 2>&1 &)`;
    const pid = await startEscape(set, start, seconds, { survive: true });
    const { osPid = 0 } = (await set.kernel.processes.get(pid)).command ?? {};
    await set.kernel.shutdown();
    process.kill(-osPid, 'SIGKILL');
    await expect.poll(() => isAlive(osPid)).toBe(false);
    expect(findOsProcesses(seconds)).toHaveLength(1);
    const next: Kernel = await openKernel({ store: set.store, workspace: tempFolder() });
    expect(next.recovery.abandoned).toEqual({ pid_gone: 1 });
    expect((await next.processes.get(pid)).outcome?.evidence).toMatchObject({ survivors: 1 });
    expect(findOsProcesses(seconds)).toEqual([]);
  });

  it('is adopted with its command also when that has no environment', async () => {
    const set = await commandFixture({}, { store: await newStore() });
    const seconds = uniqueSeconds();
    const { pid } = await set.face.run({ argv: ['env', '-i', 'sleep', seconds], survive: true, background: true });
    await expect.poll(() => findOsProcesses(`sleep ${seconds}`).length).toBe(1);
    await set.kernel.shutdown();
    const next = await openKernel({ store: set.store, workspace: tempFolder() });
    expect(next.recovery).toMatchObject({ adopted: 1, abandoned: {} });
    await next.processes.kill(pid);
    await next.processes.result(pid);
    expect(findOsProcesses(seconds)).toEqual([]);
  });
});

describe.runIf(process.platform === 'linux')('a program of somebody else', () => {
  it('that reads the output of a command is not signalled', async () => {
    const set = await commandFixture();
    const seconds = uniqueSeconds();
    const { pid } = await set.face.run({ argv: ['sh', '-c', `echo up; sleep ${seconds}`], background: true });
    await set.kernel.processes.waitOutput(pid, 'up');
    const { outputFile = '' } = (await set.kernel.processes.get(pid)).command ?? {};
    const reader = spawn('sh', ['-c', 'exec tail -f "$0"', outputFile], { stdio: ['ignore', 'pipe', 'ignore'] });
    onTestFinished(() => void reader.kill('SIGKILL'));
    await once(reader.stdout, 'data');
    await set.kernel.processes.kill(pid);
    await set.kernel.processes.result(pid);
    expect(findOsProcesses(seconds)).toEqual([]);
    // It still reads.
    const read = once(reader.stdout, 'data');
    appendFileSync(outputFile, 'more');
    expect(String(await read)).toBe('more');
  });

  it('is not signalled by what becomes of another command', async () => {
    const set = await commandFixture();
    const [one, two] = [uniqueSeconds(), uniqueSeconds()];
    const start = (seconds: string) => `env -i setsid sleep ${seconds} &`;
    const first = await startEscape(set, start, one);
    await startEscape(set, start, two);
    await set.kernel.processes.kill(first);
    await set.kernel.processes.result(first);
    expect(findOsProcesses(one)).toEqual([]);
    expect(findSleeps(two)).toHaveLength(1);
  });
});
