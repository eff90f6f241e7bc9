import { readdirSync, readFileSync } from 'node:fs';

/** The fields of /proc/PID/stat that are used. */
export interface ProcessStat {
  /** Ended, and not yet collected by its parent. */
  readonly isDefunct: boolean;
  readonly group: number;
  readonly session: number;
  readonly startTicks: string;
}

/** Undefined when there is no such program, or no /proc. */
export function statOf(pid: number): ProcessStat | undefined {
  const text = readTrimmed(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  // The second field is the name of the program in brackets, which may contain brackets and spaces itself.
  const afterName = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const field = (number: number) => afterName[number - stateField] ?? '';
  return {
    isDefunct: /^[ZXx]$/.test(field(stateField)),
    group: Number(field(groupField)),
    session: Number(field(sessionField)),
    startTicks: field(startTicksField),
  };
}

/** Numbers of fields, counted from 1 as in proc(5). */
const stateField = 3;
const groupField = 5;
const sessionField = 6;
const startTicksField = 22;

/** The pids of all programs; empty where there is no /proc. */
export function allPids(): number[] {
  try {
    return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  } catch {
    // Not Linux.
    return [];
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
