import { inject, injectable } from 'inversify';
import { type Token, token } from '../../base/token.js';
import type { HostIdentity } from '../../kernel/node/node-repository.js';
import { OsProcesses } from './os-processes.js';
import { allPids, newestPid, pidExists, readTrimmed, statOf } from './proc-files.js';

/** The environment variable with the token of a command, which all programs that it starts inherit. */
export const tokenVariable = 'PROCURA_TOKEN';

/** A live program. */
export interface GroupMember {
  readonly pid: number;
  readonly session: number;
}

/** Process groups of the operating system, and the programs that carry a command's token. */
export interface OsGroups {
  /** The program that has the pid now, even one that has ended and was not collected; undefined when the pid is free. */
  identify(pid: number): HostIdentity | undefined;
  /** The live members of the group. Where the system does not list them, one member with pid 0 stands for all. */
  members(group: number): GroupMember[];
  /** Whether the environment of the program carries the token; undefined when it cannot be read. */
  carries(pid: number, token: string): boolean | undefined;
  /** The live programs that carry the token; with `after`, only those that were started since the one with that pid. */
  holders(token: string, after?: number): number[];
  /** A negative pid stands for a group. A program or group that is gone is no error. */
  signal(pid: number, signal: NodeJS.Signals): void;
}
export const OsGroups: Token<OsGroups> = token('OsGroups');

/** Reads /proc on Linux; elsewhere it only knows whether a group has members, and sees no tokens. */
@injectable()
export class SystemOsGroups implements OsGroups {
  constructor(@inject(OsProcesses) private readonly os: OsProcesses) {}

  identify(pid: number): HostIdentity | undefined {
    const { machine, boot } = this.os.self();
    const stat = statOf(pid);
    if (stat === undefined && !pidExists(pid)) return undefined;
    return { machine, boot, pid, startTicks: stat?.startTicks ?? '' };
  }

  members(group: number): GroupMember[] {
    // Nearly always the group is empty, and one system call shows it.
    if (!pidExists(-group)) return [];
    const pids = allPids();
    if (pids.length === 0) return [{ pid: 0, session: group }];
    return pids.flatMap((pid) => {
      const stat = statOf(pid);
      return stat === undefined || stat.isDefunct || stat.group !== group ? [] : [{ pid, session: stat.session }];
    });
  }

  carries(pid: number, token: string): boolean | undefined {
    const stat = statOf(pid);
    if (stat === undefined || stat.isDefunct) return false;
    return readTrimmed(`/proc/${pid}/environ`)?.includes(token);
  }

  holders(token: string, after?: number): number[] {
    const pids = (after === undefined ? undefined : pidsAfter(after)) ?? allPids();
    return pids.filter((pid) => this.carries(pid, token) === true);
  }

  signal(pid: number, signal: NodeJS.Signals): void {
    // The kernel takes 0 and -1 for many programs at once, and 1 is the init process.
    if (Math.abs(pid) <= 1) return;
    try {
      process.kill(pid, signal);
    } catch {
      // It is gone, or may not be signalled; the caller checks afterwards what is left.
    }
  }
}

/** With more new pids than this, reading the list of all programs is cheaper than trying each. */
const newPidsMax = 100;

/** The pids given out since `pid`: they are given in order. Undefined when they have wrapped around, or are too many. */
function pidsAfter(pid: number): number[] | undefined {
  const count = (newestPid() ?? 0) - pid;
  return count < 0 || count > newPidsMax ? undefined : Array.from({ length: count }, (_, index) => pid + 1 + index);
}
