import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { type Token, token } from '../../base/token.js';
import type { HostIdentity } from '../../kernel/node/node-repository.js';
import { OsProcesses } from './os-processes.js';
import { readTrimmed, statOf } from './proc-files.js';

/** A live program of the operating system, which somebody else may have started. */
export interface OsProgram {
  /** Its pid, start and boot, by which it is told from a later program with the same pid. */
  readonly identity: HostIdentity;
  /** Its process group. */
  readonly group: number;
  /** The number of the user that it runs as. */
  readonly user: number;
  /** The time of its start by the clock of the kernel, in milliseconds. */
  readonly startedAt: number;
  /** The name of its executable file, cut by the system. */
  readonly name: string;
}

/** The program that this kernel runs in. */
export interface OwnProgram {
  /** Its process group. */
  readonly group: number;
  /** The id of its user. */
  readonly user: number;
  /** The pids of this program and of all that it was started by. */
  readonly lineage: readonly number[];
}

/** Looks at programs that the kernel has not started. */
export interface OsPrograms {
  /** Undefined when there is none, when it has ended, and where the system does not tell when programs were started. */
  find(osPid: number): OsProgram | undefined;
  /** The program that this kernel runs in. */
  own(): OwnProgram;
  /** Whether the user of this program may signal the one that has the pid now. */
  maySignal(osPid: number): boolean;
}
export const OsPrograms: Token<OsPrograms> = token('OsPrograms');

/** The system counts start times in hundredths of a second on every platform that has /proc. */
const tickMs = 10;

/** Reads /proc; elsewhere it finds nothing. */
@injectable()
export class SystemOsPrograms implements OsPrograms {
  constructor(
    @inject(OsProcesses) private readonly os: OsProcesses,
    @inject(Clock) private readonly clock: KernelClock,
  ) {}

  find(osPid: number): OsProgram | undefined {
    const stat = statOf(osPid);
    const user = userOf(osPid);
    if (stat === undefined || stat.isDefunct || stat.startTicks === '' || user === undefined) return undefined;
    const { machine, boot } = this.os.self();
    return {
      identity: { machine, boot, pid: osPid, startTicks: stat.startTicks },
      group: stat.group,
      user,
      startedAt: toTime(stat.startTicks, this.clock.peek()),
      name: readTrimmed(`/proc/${osPid}/comm`) ?? '',
    };
  }

  own(): OwnProgram {
    const lineage: number[] = [];
    for (let pid = process.pid; pid > 0 && !lineage.includes(pid); pid = statOf(pid)?.parent ?? 0) lineage.push(pid);
    return { group: statOf(process.pid)?.group ?? process.pid, user: process.getuid?.() ?? 0, lineage };
  }

  maySignal(osPid: number): boolean {
    try {
      process.kill(osPid, 0);
      return true;
    } catch (error) {
      return !(error instanceof Error && 'code' in error && error.code === 'EPERM');
    }
  }
}

/** The real user of a program; its folder in /proc may be root's. */
function userOf(pid: number): number | undefined {
  const [, user] = /^Uid:\s+(\d+)/m.exec(readTrimmed(`/proc/${pid}/status`) ?? '') ?? [];
  return user === undefined ? undefined : Number(user);
}

/** Measured from the start of this program: the uptime that a container shows need not be the one that ticks count from. */
function toTime(startTicks: string, now: number): number {
  const ownTicks = Number(statOf(process.pid)?.startTicks ?? 0);
  const ownStart = now - process.uptime() * 1_000;
  return Math.round(ownStart + (Number(startTicks) - ownTicks) * tickMs);
}
