import type { HostIdentity } from '../../kernel/node/node-repository.js';
import type { OsGroups } from '../../runtime/os/os-groups.js';
import type { OsProcess } from '../../runtime/os/process-sweep.js';
import type { FoundProcesses } from './command-processes.js';
import type { StoppableProcesses } from './stop-sequence.js';

/** A program that somebody else has started. */
export interface AdoptedProgram {
  readonly leader: HostIdentity;
  /** The process group that signals go to; null: to the process alone. */
  readonly group: number | null;
}

/**
 * Finds and signals an adopted program: the process alone, or the group that it leads. What its group has left when it ended
 * counts only if it was in the group while the program lived.
 */
export class AdoptedProcesses implements StoppableProcesses {
  private known: readonly OsProcess[] = [];

  constructor(
    private readonly groups: OsGroups,
    private readonly program: AdoptedProgram,
  ) {}

  async find(): Promise<FoundProcesses> {
    const sweep = await this.groups.sweep();
    const { leader, group } = this.program;
    const current = sweep.find(leader.pid);
    const isSame = current?.startTicks === leader.startTicks && !current.isDefunct;
    if (group === null) return this.note([], isSame ? [current] : []);
    const members = sweep.membersOf(group);
    if (isSame && current.group === group) {
      const isWhole = !members.some(({ pid }) => sweep.isSpared(pid));
      return isWhole ? this.note(members, []) : this.note([], [current]);
    }
    const left = members.filter(({ pid, startTicks }) =>
      this.known.some((each) => each.pid === pid && each.startTicks === startTicks),
    );
    return this.note([], isSame ? [current, ...left] : left);
  }

  isAnyLeft(): boolean {
    return this.known.some((each) => this.groups.isAlive(each));
  }

  signal({ group, others }: FoundProcesses, signal: NodeJS.Signals): void {
    if (group.length > 0 && this.program.group !== null) this.groups.signalGroup(this.program.group, group, signal);
    for (const each of others) this.groups.signal(each, signal);
  }

  private note(group: readonly OsProcess[], others: readonly OsProcess[]): FoundProcesses {
    this.known = [...group, ...others];
    return { group, others, isGroupUnlisted: false };
  }
}
