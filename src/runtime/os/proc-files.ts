import { readdirSync, readFileSync } from 'node:fs';

/** What /proc says of a program. */
export interface ProcessStat {
  /** Ended, and not yet collected by its parent. */
  readonly isDefunct: boolean;
  readonly group: number;
  readonly session: number;
  readonly startTicks: string;
}

/** Undefined where there is no such process, or nobody tells. */
export function statOf(pid: number): ProcessStat | undefined {
  const text = readTrimmed(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  // The second field is the name of the program in brackets, which may hold brackets and spaces itself.
  const afterName = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const field = (number: number) => afterName[number - stateField] ?? '';
  return {
    isDefunct: /^[ZXx]$/.test(field(stateField)),
    group: Number(field(groupField)),
    session: Number(field(sessionField)),
    startTicks: field(startTicksField),
  };
}

/** As the manual of /proc counts the fields, from 1. */
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

/** The pid that was given last; undefined where nobody tells. */
export function newestPid(): number | undefined {
  const last = readTrimmed('/proc/loadavg')?.split(' ').at(-1);
  return last === undefined ? undefined : Number(last);
}

/** Whether somebody has that pid, or is of that group where it is negative. Whoever may not be signalled is there. */
export function pidExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}

export function readTrimmed(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    // Not there on this system, or not to be read by this user.
    return undefined;
  }
}
