import { readdirSync, readFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import type { CapabilitySpec, Kernel, KernelOptions, Pid, ProcessFace, SpawnSpec } from '../../src/index.js';
import { newStore, openKernel, tempFolder } from './kernel.js';

export const anyCommand: CapabilitySpec = { resource: 'command:**', rights: ['call'] };

/** A kernel with a process that may run commands, and what it does that by. */
export interface Commander {
  readonly kernel: Kernel;
  readonly store: string;
  readonly workspace: string;
  readonly pid: Pid;
  readonly face: ProcessFace;
}

export async function commander(spec: SpawnSpec = {}, options: KernelOptions = {}): Promise<Commander> {
  const store = options.store ?? newStore();
  const workspace = options.workspace ?? tempFolder();
  const kernel = await openKernel({ ...options, store, workspace });
  const pid = await kernel.processes.spawn({ capabilities: [anyCommand], ...spec });
  return { kernel, store, workspace, pid, face: kernel.as(pid) };
}

let marks = 0;

/** Seconds of sleep that no other program of this machine sleeps, so that it can be found by them. */
export function mark(): string {
  const seconds = `${100_000 + process.pid}.${String(++marks).padStart(4, '0')}`;
  onTestFinished(() => {
    for (const pid of running(seconds)) process.kill(pid, 'SIGKILL');
  });
  return seconds;
}

/** The OS processes that live and have `text` in their command line. */
export function running(text: string): number[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const isDefunct = /\) [ZX] /.test(readFileSync(`/proc/${name}/stat`, 'utf8'));
      const line = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return !isDefunct && line.includes(text) ? [Number(name)] : [];
    } catch {
      // It has ended meanwhile.
      return [];
    }
  });
}

/** Whether one that sleeps for so long is stopped by a signal. */
export function isHeld(pid: number): boolean {
  return /\) T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}
