import { setTimeout as sleep } from 'node:timers/promises';
import { Deferred } from '../../base/deferred.js';
import type { HostIdentity } from '../../kernel/node/node-repository.js';
import type { OsGroups } from '../../runtime/os/os-groups.js';

/** The processes to stop: a process group, and all others that carry the token in their environment. */
export interface StopTarget {
  /** Absent when no program is known to have been started. */
  readonly leader?: HostIdentity | undefined;
  readonly token: string;
  /** The leader is a child of this program: its session id cannot have been reused, so a session with it is the command's. */
  readonly isOwn: boolean;
}

const firstPollMs = 5;
const pollMsMax = 50;
/** The time to wait for the end of killed processes before they are killed again. */
const killMs = 1_000;
/** A kill can take effect late, such as while a disk does not answer. */
const killsMax = 10;

/**
 * Stops a command and everything that it has started: SIGTERM to the group and to all that carry its token, time to end,
 * then SIGKILL until no process is left. Signals no process that is not known to be the command's.
 */
export class StopSequence {
  private wakeEarly: (() => void) | undefined;
  private killAt: number | undefined;
  private running: Promise<boolean> | undefined;

  constructor(
    private readonly groups: OsGroups,
    private readonly target: StopTarget,
    private readonly now: () => number,
  ) {}

  /** At `killAt` the processes are killed; a later call can only make it earlier. Resolves with whether no process is left. */
  stop(killAt: number): Promise<boolean> {
    this.killAt = Math.min(this.killAt ?? killAt, killAt);
    this.wakeEarly?.();
    this.running ??= this.run();
    return this.running;
  }

  /** Whether any process of the group, or any that carries the token and has a pid above `after`, is alive. */
  isAnyAlive(after?: number): boolean {
    return this.liveGroupMembers().length > 0 || this.groups.holders(this.target.token, after).length > 0;
  }

  /** Signals the group and all that carry the token. */
  signal(signal: NodeJS.Signals): void {
    const { leader, token } = this.target;
    const holders = new Set(this.groups.holders(token));
    const group = this.liveGroupMembers();
    if (leader !== undefined && group.length > 0) {
      this.groups.signal(-leader.pid, signal);
      for (const pid of group) holders.delete(pid);
    }
    for (const pid of holders) this.groups.signal(pid, signal);
  }

  private async run(): Promise<boolean> {
    if (!this.isAnyAlive()) return true;
    if ((this.killAt ?? 0) > this.now()) {
      this.signal('SIGTERM');
      // A paused process cannot end.
      this.signal('SIGCONT');
      if (await this.waitUntilGone(() => this.killAt ?? 0)) return true;
    }
    for (let kill = 0; kill < killsMax; kill++) {
      this.signal('SIGKILL');
      const until = this.now() + killMs;
      if (await this.waitUntilGone(() => until)) return true;
    }
    return false;
  }

  /** Polls until no process is left, or `until` has come. Gives whether none is left. */
  private async waitUntilGone(until: () => number): Promise<boolean> {
    for (let lookMs = firstPollMs; ; lookMs = Math.min(lookMs * 2, pollMsMax)) {
      if (!this.isAnyAlive()) return true;
      const leftMs = until() - this.now();
      if (leftMs <= 0) return false;
      await this.sleepUntilWoken(Math.min(lookMs, leftMs));
    }
  }

  private async sleepUntilWoken(ms: number): Promise<void> {
    const hurried = new Deferred();
    this.wakeEarly = hurried.resolve;
    await Promise.race([sleep(ms), hurried.promise]);
    this.wakeEarly = undefined;
  }

  /** The members of the group, if it is still the command's: its number may have been reused. */
  private liveGroupMembers(): number[] {
    const { leader, token, isOwn } = this.target;
    if (leader === undefined) return [];
    const members = this.groups.members(leader.pid);
    if (members.length === 0) return [];
    const pids = members.map(({ pid }) => pid);
    const current = this.groups.identify(leader.pid);
    if (current !== undefined) return current.startTicks === leader.startTicks ? pids : [];
    const isOurs = members.some(({ pid, session }) =>
      isOwn ? session === leader.pid : this.groups.carries(pid, token) === true,
    );
    return isOurs ? pids : [];
  }
}
