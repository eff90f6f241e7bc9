import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';

/** A program that the test has started, not the kernel. Killed with its group after the test. */
export interface ForeignProgram {
  readonly child: ChildProcess;
  readonly osPid: number;
  /** Resolves with its exit code and signal. */
  readonly exit: Promise<readonly [code: number | null, signal: string | null]>;
}

export interface ForeignOptions {
  /** Leads a process group of its own. Default true. */
  readonly detached?: boolean;
  readonly uid?: number;
}

/** Runs a shell script, and waits until it has printed `up`. */
export async function foreignProgram(script: string, options: ForeignOptions = {}): Promise<ForeignProgram> {
  const { detached = true } = options;
  const child = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'ignore'], ...options, detached });
  const exit = once(child, 'exit') as Promise<[number | null, string | null]>;
  const osPid = child.pid ?? 0;
  onTestFinished(() => {
    try {
      process.kill(detached ? -osPid : osPid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  });
  child.stdout?.setEncoding('utf8');
  for (let text = ''; !text.includes('up\n'); ) text += String((await once(child.stdout ?? child, 'data'))[0]);
  return { child, osPid, exit };
}

/** A script that lives until it is signalled, and prints `up` when it is ready. */
export function idle(traps = ''): string {
  return `${traps}\necho up\nwhile :; do sleep 0.05; done`;
}

/** Whether the process of the operating system runs or is stopped; one that has ended and was not collected does not. */
export function isLive(osPid: number): boolean {
  return statOf(osPid)?.isLive === true;
}

export function groupOf(osPid: number): number {
  return statOf(osPid)?.group ?? 0;
}

/** The live processes of a group. */
export function membersOf(group: number): number[] {
  return osPids().filter((osPid) => groupOf(osPid) === group && isLive(osPid));
}

/** The children of an OS process, also those that have ended and were not collected. */
export function childrenOf(parent: number): number[] {
  return osPids().filter((osPid) => statOf(osPid)?.parent === parent);
}

function osPids(): number[] {
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
}

/** Undefined when there is none. */
function statOf(osPid: number): { isLive: boolean; parent: number; group: number } | undefined {
  try {
    const text = readFileSync(`/proc/${osPid}/stat`, 'utf8');
    const [state = '', parent, group] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    return { isLive: !/[ZX]/.test(state), parent: Number(parent), group: Number(group) };
  } catch {
    return undefined;
  }
}
