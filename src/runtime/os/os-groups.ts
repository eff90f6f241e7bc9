import { inject, injectable } from 'inversify';
import { type Token, token } from '../../base/token.js';
import type { HostIdentity } from '../../kernel/node/node-repository.js';
import { OsProcesses } from './os-processes.js';
import { allPids, newestPid, pidExists, readTrimmed, statOf } from './proc-files.js';

/** The variable by which everything that a command starts is told from all other programs. */
export const tokenVariable = 'PROCURA_TOKEN';

/** A program that lives. */
export interface GroupMember {
  readonly pid: number;
  readonly session: number;
}

/** Groups of programs, as the operating system knows them. */
export interface OsGroups {
  /** Who has that pid now, also one that has ended and was not collected; undefined when nobody has. */
  identify(pid: number): HostIdentity | undefined;
  /** Those that live, by the pid that their group is named for. Where the system does not tell them, one of pid 0. */
  members(group: number): GroupMember[];
  /** Whether its environment carries the token; undefined when that cannot be seen. */
  carries(pid: number, token: string): boolean | undefined;
  /** All that live and carry the token; with `after`, only those that were born after the one with that pid, moments ago. */
  holders(token: string, after?: number): number[];
  /** To a group where the pid is negative. One that is gone is no error. */
  signal(pid: number, signal: NodeJS.Signals): void;
}
export const OsGroups: Token<OsGroups> = token('OsGroups');

/** On Linux by /proc; elsewhere a group is only known to be there or not, and tokens are not seen. */
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
    // Nearly always nobody is left, and one call says so.
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
    // 0, 1 and -1 stand for much more than one group.
    if (Math.abs(pid) <= 1) return;
    try {
      process.kill(pid, signal);
    } catch {
      // It is gone, or not ours to signal; whether somebody is left is looked at afterwards.
    }
  }
}

/** More than a machine without work gives in a moment: then it is better to look at those that there are. */
const newPidsMax = 100;

/** Pids are given in order, so the ones between are all that can have been born; undefined when they have come round. */
function pidsAfter(pid: number): number[] | undefined {
  const born = (newestPid() ?? 0) - pid;
  return born < 0 || born > newPidsMax ? undefined : Array.from({ length: born }, (_, index) => pid + 1 + index);
}
