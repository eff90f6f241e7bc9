import { lstatSync, readdir, readdirSync, readFile, readFileSync, readlinkSync } from 'node:fs';
import { promisify } from 'node:util';

/** The fields of /proc/PID/stat that are used. */
export interface ProcessStat {
  /** Ended, and not yet collected by its parent. */
  readonly isDefunct: boolean;
  /** The pid of its parent. */
  readonly parent: number;
  /** Its process group. */
  readonly group: number;
  /** Its session. */
  readonly session: number;
  /** When it started, in ticks since the boot. */
  readonly startTicks: string;
}

/** Undefined when there is no such program, or no /proc. */
export function statOf(pid: number): ProcessStat | undefined {
  const text = readTrimmed(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  // The second field is the name of the program in brackets, which may contain brackets and spaces itself.
  const afterName = text.slice(text.lastIndexOf(')') + 2).split(' ', startTicksField - stateField + 1);
  const field = (number: number) => afterName[number - stateField] ?? '';
  return {
    isDefunct: /^[ZXx]$/.test(field(stateField)),
    parent: Number(field(parentField)),
    group: Number(field(groupField)),
    session: Number(field(sessionField)),
    startTicks: field(startTicksField),
  };
}

/** Numbers of fields, counted from 1 as in proc(5). */
const stateField = 3;
const parentField = 4;
const groupField = 5;
const sessionField = 6;
const startTicksField = 22;

/** The pids of all programs; empty where there is no /proc. */
export async function allPids(): Promise<number[]> {
  return toPids(await readFolder('/proc'));
}

/** The numbers of the open descriptors of a program, highest first; empty when they cannot be read. */
export async function descriptorsOf(pid: number): Promise<number[]> {
  return toDescriptors(await readFolder(`/proc/${pid}/fd`));
}

export function descriptorsOfSync(pid: number): number[] {
  try {
    return toDescriptors(readdirSync(`/proc/${pid}/fd`));
  } catch {
    // It is gone, or another user's, or there is no /proc.
    return [];
  }
}

/** The path of an open file, with the suffix ` (deleted)` if it has none any more; undefined when it cannot be read. */
export function descriptorPath(pid: number, descriptor: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/fd/${descriptor}`);
  } catch {
    // It was closed in the meantime, or is another user's.
    return undefined;
  }
}

/** Whether a descriptor is open for writing and not for reading. */
export function isWriteOnly(pid: number, descriptor: number): boolean {
  try {
    return (lstatSync(`/proc/${pid}/fd/${descriptor}`).mode & 0o600) === 0o200;
  } catch {
    // It was closed in the meantime.
    return false;
  }
}

/** The environment of a program. The system may let it wait for the program; undefined when it cannot be read. */
export async function environmentTextOf(pid: number): Promise<string | undefined> {
  try {
    return await readText(`/proc/${pid}/environ`, 'latin1');
  } catch {
    // It is gone, or another user's.
    return undefined;
  }
}

/** The pid that was given out last; undefined where there is no /proc. */
export function newestPid(): number | undefined {
  const last = readTrimmed('/proc/loadavg')?.split(' ').at(-1);
  return last === undefined ? undefined : Number(last);
}

/** Whether a program has the pid, or is in the group of a negative one. One that may not be signalled exists too. */
export function pidExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}

/** The text of a file without the whitespace around it; undefined when it cannot be read. */
export function readTrimmed(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    // It does not exist on this system, or this user may not read it.
    return undefined;
  }
}

const readText = promisify(readFile);
const listFolder = promisify(readdir);

async function readFolder(folder: string): Promise<string[]> {
  try {
    return await listFolder(folder);
  } catch {
    // It is gone, or another user's, or there is no /proc.
    return [];
  }
}

function toPids(names: readonly string[]): number[] {
  return names.flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
}

function toDescriptors(names: readonly string[]): number[] {
  return toPids(names).sort((a, b) => b - a);
}
