import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SystemOsProcesses } from '../../src/runtime/os/os-processes.js';

const os = new SystemOsProcesses();
const here = os.self();
const onLinux = process.platform === 'linux';

/** A program that says who it is once it runs, under the name that is given. */
async function program(title = 'plain'): Promise<{ child: ChildProcess; pid: number }> {
  const code = `process.title = ${JSON.stringify(title)}; console.log(1); setInterval(() => {}, 1e6)`;
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  if (child.stdout === null || child.pid === undefined) throw new Error('the program did not start');
  await once(child.stdout, 'data');
  return { child, pid: child.pid };
}

async function end(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
}

/** Read in another way than the kernel does: the fields after the name, from the right. */
function startTicksOf(pid: number): string {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').trim().split(' ');
  return fields.at(21 - 52) ?? '';
}

describe('this program', () => {
  it('is alive, and the same whenever it is asked', () => {
    expect(here).toMatchObject({ pid: process.pid });
    expect(new SystemOsProcesses().self()).toEqual(here);
    expect(os.isAlive(here)).toBe(onLinux ? true : undefined);
  });

  it('is not judged from another machine', () => {
    expect(os.isAlive({ ...here, machine: 'elsewhere' })).toBeUndefined();
    expect(os.isAlive({ ...here, machine: 'elsewhere', boot: 'another' })).toBeUndefined();
  });
});

describe('a program that is gone', () => {
  it('is dead, whether or not it is known when it was started', async () => {
    const { child, pid } = await program();
    await end(child);
    expect(os.isAlive({ ...here, pid })).toBe(false);
    expect(os.isAlive({ ...here, pid, startTicks: '' })).toBe(false);
  });
});

describe.runIf(onLinux)('on Linux', () => {
  it('a program with a reused pid is told from the earlier one by its start', () => {
    expect(os.isAlive({ ...here, startTicks: `${Number(here.startTicks) - 1}` })).toBe(false);
  });

  it('nobody has survived another boot of the same machine', () => {
    expect(os.isAlive({ ...here, boot: 'another' })).toBe(false);
  });

  it('nothing is proven by what was not known when it was written', () => {
    expect(os.isAlive({ ...here, startTicks: '' })).toBeUndefined();
    expect(os.isAlive({ ...here, boot: '' })).toBeUndefined();
  });

  it('a name with brackets and spaces hides no field', async () => {
    const { pid } = await program('a) Z 1 (b');
    expect(readFileSync(`/proc/${pid}/stat`, 'utf8')).toContain('(a) Z 1 (b)');
    expect(os.isAlive({ ...here, pid, startTicks: startTicksOf(pid) })).toBe(true);
    expect(os.isAlive({ ...here, pid, startTicks: '1' })).toBe(false);
  });

  it('a program that has ended and that nobody has collected is dead', async () => {
    // The shell is replaced by a program that never asks what became of the shell's child.
    const parent = spawn('sh', ['-c', 'sleep 0.01 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'inherit'] });
    onTestFinished(() => void parent.kill('SIGKILL'));
    const [chunk] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(String(chunk).trim());
    await expect.poll(() => readFileSync(`/proc/${pid}/stat`, 'utf8')).toContain(') Z ');
    expect(os.isAlive({ ...here, pid, startTicks: startTicksOf(pid) })).toBe(false);
  });
});
