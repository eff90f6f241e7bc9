import { inject, injectable } from 'inversify';
import { type Token, token } from '../../base/token.js';
import type { HostIdentity } from '../../kernel/node/node-repository.js';
import { type CommandMarks, WantedMarks } from './command-marks.js';
import { OsProcesses } from './os-processes.js';
import { newestPid, pidExists, statOf } from './proc-files.js';
import { type ProcessSweep, SharedSweeps } from './process-sweep.js';

/** A process that is the same only as long as it has been started at this time. */
export type StartedProcess = Pick<HostIdentity, 'pid' | 'startTicks'>;

/** The processes of commands on the operating system: found by group, by the marks of the command and by the tree. */
export interface OsGroups {
  /** The program that has the pid now, even one that has ended and was not collected; undefined when the pid is free. */
  identify(pid: number): HostIdentity | undefined;
  /** Whether the very same process is alive. */
  isAlive(process: StartedProcess): boolean;
  /** Whether the group has members, also ones that have ended and were not collected. */
  hasMembers(group: number): boolean;
  /** All processes, with those that have the marks. One sweep answers everybody who asks before it begins. */
  sweep(marks?: CommandMarks): Promise<ProcessSweep>;
  /** Whether the program has any of the marks; undefined when it cannot be read. */
  carries(pid: number, marks: CommandMarks): Promise<boolean | undefined>;
  /**
   * Whether any process that was started after the one with that pid has the marks. Looks at these only, at once; undefined
   * when they are too many.
   */
  isAnyAfter(pid: number, marks: CommandMarks): boolean | undefined;
  /** A process that is gone is no error; another one with its pid is not signalled. */
  signal(process: StartedProcess, signal: string): void;
  /** Signals the group if one of `members` is still the same and in it; or, without any, if the system lists no members. */
  signalGroup(group: number, members: readonly StartedProcess[], signal: string): void;
}
export const OsGroups: Token<OsGroups> = token('OsGroups');

/** Reads /proc on Linux; elsewhere it only knows whether a group has members, and sees no marks. */
@injectable()
export class SystemOsGroups implements OsGroups {
  private readonly sweeps = new SharedSweeps();

  constructor(@inject(OsProcesses) private readonly os: OsProcesses) {}

  /** The number of sweeps since the start. */
  get sweepCount(): number {
    return this.sweeps.count;
  }

  identify(pid: number): HostIdentity | undefined {
    const { machine, boot } = this.os.self();
    const stat = statOf(pid);
    if (stat === undefined && !pidExists(pid)) return undefined;
    return { machine, boot, pid, startTicks: stat?.startTicks ?? '' };
  }

  isAlive({ pid, startTicks }: StartedProcess): boolean {
    const stat = statOf(pid);
    return stat !== undefined && !stat.isDefunct && stat.startTicks === startTicks;
  }

  hasMembers(group: number): boolean {
    return pidExists(-group);
  }

  sweep(marks?: CommandMarks): Promise<ProcessSweep> {
    return this.sweeps.request(marks);
  }

  async carries(pid: number, marks: CommandMarks): Promise<boolean | undefined> {
    if (!isRunning(pid)) return false;
    const found = await new WantedMarks([marks]).findIn(pid);
    return found === undefined ? undefined : found.length > 0;
  }

  isAnyAfter(pid: number, marks: CommandMarks): boolean | undefined {
    const pids = pidsAfter(pid);
    if (pids.length === 0) return false;
    if (pids.length > newPidsMax) return undefined;
    const wanted = new WantedMarks([marks]);
    return pids.some((each) => isRunning(each) && wanted.isIn(each));
  }

  signal(target: StartedProcess, signal: string): void {
    // The init process, and the ones that stand for many.
    if (target.pid > 1 && this.isAlive(target)) send(target.pid, signal);
  }

  signalGroup(group: number, members: readonly StartedProcess[], signal: string): void {
    const isSame = ({ pid, startTicks }: StartedProcess) => {
      const stat = statOf(pid);
      return stat !== undefined && stat.startTicks === startTicks && stat.group === group;
    };
    if (group > 1 && (members.length === 0 || members.some(isSame))) send(-group, signal);
  }
}

function isRunning(pid: number): boolean {
  return statOf(pid)?.isDefunct === false;
}

function send(pid: number, signal: string): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It is gone, or may not be signalled; the caller checks afterwards what is left.
  }
}

/** With more new pids than this, a sweep that others share is cheaper than trying each. */
const newPidsMax = 100;

/** The pids given out since `pid`: they are given in order. More than can be tried when they have wrapped around. */
function pidsAfter(pid: number): number[] {
  const newest = newestPid();
  if (newest === undefined) return [];
  const count = newest < pid ? newPidsMax + 1 : Math.min(newest - pid, newPidsMax + 1);
  return Array.from({ length: count }, (_, index) => pid + 1 + index);
}
