import { setTimeout as sleep } from 'node:timers/promises';
import type { HostIdentity } from '../../kernel/node/node-repository.js';
import type { OsGroups } from '../../runtime/os/os-groups.js';

/** What is to be stopped: a group, and whatever else carries the token. */
export interface StopTarget {
  /** Absent where nothing is known to have been started. */
  readonly leader?: HostIdentity | undefined;
  readonly token: string;
  /** The leader is a child of this program, which has seen all of its life: its session is known to be the command's. */
  readonly isOwn: boolean;
}

const firstLookMs = 5;
const looksMsMax = 50;
/** How long is waited for the end of what was killed, before it is killed again. */
const killMs = 1_000;
/** A kill cannot be refused, only be late: such as by a disk that does not answer. */
const killsMax = 10;

/**
 * Stops a command and everything that it has started: a signal to the group and to all that carry its token, time to end,
 * then a kill, and the proof that nobody is left. Nothing is signalled that is not known to be the command's.
 */
export class StopLadder {
  private hurry: (() => void) | undefined;
  private killAt: number | undefined;
  private running: Promise<boolean> | undefined;

  constructor(
    private readonly os: OsGroups,
    private readonly target: StopTarget,
    private readonly now: () => number,
  ) {}

  /**
   * Resolves with whether nobody is left; `killAt` is when the time to end is over. Asked again, it only has less time.
   */
  stop(killAt: number): Promise<boolean> {
    this.killAt = Math.min(this.killAt ?? killAt, killAt);
    this.hurry?.();
    this.running ??= this.descend();
    return this.running;
  }

  /** Of the group and of those that carry the token, born after `after`: whether somebody is left. */
  isAnybodyLeft(after?: number): boolean {
    return this.livingGroup().length > 0 || this.os.holders(this.target.token, after).length > 0;
  }

  /** Signals the group and all that carry the token, as far as they are the command's. */
  signal(signal: NodeJS.Signals): void {
    const { leader, token } = this.target;
    const holders = new Set(this.os.holders(token));
    const group = this.livingGroup();
    if (leader !== undefined && group.length > 0) {
      this.os.signal(-leader.pid, signal);
      for (const pid of group) holders.delete(pid);
    }
    for (const pid of holders) this.os.signal(pid, signal);
  }

  private async descend(): Promise<boolean> {
    if (!this.isAnybodyLeft()) return true;
    if ((this.killAt ?? 0) > this.now()) {
      this.signal('SIGTERM');
      // One that was held cannot end.
      this.signal('SIGCONT');
      if (await this.isOver(() => this.killAt ?? 0)) return true;
    }
    for (let kill = 0; kill < killsMax; kill++) {
      this.signal('SIGKILL');
      const until = this.now() + killMs;
      if (await this.isOver(() => until)) return true;
    }
    return false;
  }

  /** Looks until nobody is left, or the time is over. */
  private async isOver(until: () => number): Promise<boolean> {
    for (let lookMs = firstLookMs; ; lookMs = Math.min(lookMs * 2, looksMsMax)) {
      if (!this.isAnybodyLeft()) return true;
      const leftMs = until() - this.now();
      if (leftMs <= 0) return false;
      await this.pause(Math.min(lookMs, leftMs));
    }
  }

  private async pause(ms: number): Promise<void> {
    const hurried = new Promise<void>((resolve) => {
      this.hurry = resolve;
    });
    await Promise.race([sleep(ms), hurried]);
    this.hurry = undefined;
  }

  /** The members of the group, if it is still the command's: a number that is free again may be anybody's. */
  private livingGroup(): number[] {
    const { leader, token, isOwn } = this.target;
    if (leader === undefined) return [];
    const members = this.os.members(leader.pid);
    if (members.length === 0) return [];
    const pids = members.map(({ pid }) => pid);
    const now = this.os.identify(leader.pid);
    if (now !== undefined) return now.startTicks === leader.startTicks ? pids : [];
    const isOurs = members.some(({ pid, session }) =>
      isOwn ? session === leader.pid : this.os.carries(pid, token) === true,
    );
    return isOurs ? pids : [];
  }
}
