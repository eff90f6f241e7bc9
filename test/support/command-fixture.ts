import { readdirSync, readFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import type { CapabilitySpec, Kernel, KernelOptions, Pid, ProcessFace, SpawnSpec } from '../../src/index.js';
import { newStore, openKernel, tempFolder } from './kernel.js';

export const anyCommand: CapabilitySpec = { resource: 'command:**', rights: ['call'] };

/** A kernel with a process that may run commands. */
export interface CommandFixture {
  readonly kernel: Kernel;
  readonly store: string;
  readonly workspace: string;
  readonly pid: Pid;
  readonly face: ProcessFace;
}

export async function commandFixture(spec: SpawnSpec = {}, options: KernelOptions = {}): Promise<CommandFixture> {
  const store = options.store ?? (await newStore());
  const workspace = options.workspace ?? tempFolder();
  const kernel = await openKernel({ ...options, store, workspace });
  const pid = await kernel.processes.spawn({ capabilities: [anyCommand], ...spec });
  return { kernel, store, workspace, pid, face: kernel.as(pid) };
}

let sleeps = 0;

/** A number of seconds that no other program of this machine sleeps, so that the sleep can be found by it. Killed after the test. */
export function uniqueSeconds(): string {
  const seconds = `${100_000 + process.pid}.${String(++sleeps).padStart(4, '0')}`;
  onTestFinished(() => {
    for (const pid of findOsProcesses(seconds)) process.kill(pid, 'SIGKILL');
  });
  return seconds;
}

/** The pids of the live OS processes with `text` in their command line. */
export function findOsProcesses(text: string): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const isDefunct = /\) [ZX] /.test(readFileSync(`/proc/${name}/stat`, 'utf8'));
      const line = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return !isDefunct && line.includes(text) ? [Number(name)] : [];
    } catch {
      // It has ended since the folder was listed.
      return [];
    }
  });
}

/** Whether an OS process is stopped by a signal such as SIGSTOP. */
export function isStoppedBySignal(pid: number): boolean {
  return /\) T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}
