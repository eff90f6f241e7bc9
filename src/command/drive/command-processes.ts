import type { HostIdentity } from '../../kernel/node/node-repository.js';
import type { CommandMarks } from '../../runtime/os/command-marks.js';
import type { OsGroups, StartedProcess } from '../../runtime/os/os-groups.js';
import type { OsProcess, ProcessSweep } from '../../runtime/os/process-sweep.js';

/** A command on the operating system. */
export interface CommandTarget {
  /** The leader of its process group; absent when no program is known to have been started. */
  readonly leader?: HostIdentity | undefined;
  readonly marks: CommandMarks;
  /** The leader is a child of this program: its session id cannot have been reused, so a session with it is the command's. */
  readonly isOwn: boolean;
}

/** The processes of a command that were alive when they were looked for. */
export interface FoundProcesses {
  /** Members of its group, which can be signalled as a whole. */
  readonly group: readonly OsProcess[];
  readonly others: readonly OsProcess[];
  /** The system lists no processes, and the group has members. */
  readonly isGroupUnlisted: boolean;
}

/**
 * Finds and signals the processes of one command: the members of its group, all that have its marks, and everything below
 * those in the tree, also what was there at an earlier look and has left the tree since.
 */
export class CommandProcesses {
  /** The processes of the last look, by pid, with their start. */
  private known = new Map<number, StartedProcess>();

  constructor(
    private readonly groups: OsGroups,
    readonly target: CommandTarget,
  ) {}

  async find(): Promise<FoundProcesses> {
    return this.findIn(await this.groups.sweep(this.target.marks));
  }

  /** Remembers what the tree shows. Gives the processes outside of the group that were not known before. */
  noteTree(sweep: ProcessSweep): OsProcess[] {
    const before = this.known;
    return this.findIn(sweep).others.filter(({ pid, startTicks }) => before.get(pid)?.startTicks !== startTicks);
  }

  /** Whether nothing is left, of a command that has ended after a short time. Looks at few processes; when in doubt, false. */
  isSurelyGone(): boolean {
    const { leader, marks } = this.target;
    if (leader === undefined || this.groups.hasMembers(leader.pid) || this.isAnyKnownAlive()) return false;
    return this.groups.isAnyAfter(leader.pid, marks) === false;
  }

  /** Whether any process of the last look is still there. */
  isAnyLeft({ isGroupUnlisted }: FoundProcesses): boolean {
    const { leader } = this.target;
    if (isGroupUnlisted) return leader !== undefined && this.groups.hasMembers(leader.pid);
    return this.isAnyKnownAlive();
  }

  /** Each process is signalled only if it is still the one that was found. */
  signal({ group, others, isGroupUnlisted }: FoundProcesses, signal: NodeJS.Signals): void {
    const { leader } = this.target;
    if (leader !== undefined && (isGroupUnlisted || group.length > 0))
      this.groups.signalGroup(leader.pid, group, signal);
    for (const each of others) this.groups.signal(each, signal);
  }

  private findIn(sweep: ProcessSweep): FoundProcesses {
    const { leader, marks } = this.target;
    if (!sweep.isComplete) {
      return { group: [], others: [], isGroupUnlisted: leader !== undefined && this.groups.hasMembers(leader.pid) };
    }
    const members = this.groupIn(sweep);
    const known = [...this.known.values()].flatMap(({ pid, startTicks }) => {
      const current = sweep.find(pid);
      return current?.startTicks === startTicks ? [current] : [];
    });
    const all = sweep.withDescendants([...members, ...sweep.holdersOf(marks), ...known]);
    this.known = new Map(all.map((each) => [each.pid, each]));
    // A group that this kernel itself is in cannot be signalled as a whole.
    const isWhole = !members.some(({ pid }) => sweep.isSpared(pid));
    const group = isWhole && leader !== undefined ? all.filter((each) => each.group === leader.pid) : [];
    const inGroup = new Set(group);
    return { group, others: all.filter((each) => !inGroup.has(each)), isGroupUnlisted: false };
  }

  /** The live members of the group, if it is still the command's: its number may have been reused. */
  private groupIn(sweep: ProcessSweep): OsProcess[] {
    const { leader, marks, isOwn } = this.target;
    if (leader === undefined) return [];
    const members = sweep.membersOf(leader.pid);
    const current = sweep.find(leader.pid);
    if (current !== undefined) return current.startTicks === leader.startTicks ? members : [];
    if (isOwn) return members.some(({ session }) => session === leader.pid) ? members : [];
    const holders = new Set(sweep.holdersOf(marks).map(({ pid }) => pid));
    const isOurs = members.some(({ pid, startTicks }) => {
      return holders.has(pid) || this.known.get(pid)?.startTicks === startTicks;
    });
    return isOurs ? members : [];
  }

  private isAnyKnownAlive(): boolean {
    for (const each of this.known.values()) if (this.groups.isAlive(each)) return true;
    return false;
  }
}

export function isNothing({ group, others, isGroupUnlisted }: FoundProcesses): boolean {
  return group.length === 0 && others.length === 0 && !isGroupUnlisted;
}
