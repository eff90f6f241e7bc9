import { setTimeout as sleep } from 'node:timers/promises';
import { Deferred } from '../../base/deferred.js';
import { type FoundProcesses, isNothing } from './command-processes.js';

const firstPollMs = 5;
const pollMsMax = 50;
/** The time to wait for the end of killed processes before they are killed again. */
const killMs = 1_000;
/** A kill can take effect late, such as while a disk does not answer. */
const killsMax = 10;

/** The processes that are to be stopped. */
export interface StoppableProcesses {
  find(): Promise<FoundProcesses>;
  /** Whether any process of the last look is still there. */
  isAnyLeft(found: FoundProcesses): boolean;
  /** Each process is signalled only if it is still the one that was found. */
  signal(found: FoundProcesses, signal: NodeJS.Signals): void;
}

/** Asks a program to end in its own way, instead of the first signal. Calls `onFailure` when that could not be done. */
export type Interrupt = (onFailure: () => void) => void;

/**
 * Stops a command and everything that it has started: SIGTERM to all its processes, time to end, then SIGKILL until no
 * process is left. Signals no process that is not known to be the command's.
 */
export class StopSequence {
  private wakeEarly: (() => void) | undefined;
  private killAt: number | undefined;
  private running: Promise<boolean> | undefined;
  /** Signals are sent in the order of the calls. */
  private signalling: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly processes: StoppableProcesses,
    private readonly now: () => number,
    private readonly interrupt?: Interrupt,
  ) {}

  /** At `killAt` the processes are killed; a later call can only make it earlier. Resolves with whether no process is left. */
  stop(killAt: number): Promise<boolean> {
    this.killAt = Math.min(this.killAt ?? killAt, killAt);
    this.wakeEarly?.();
    this.running ??= this.run();
    return this.running;
  }

  /** Signals all processes. Nothing more is signalled by this once a stop has begun. */
  signal(signal: NodeJS.Signals): void {
    this.signalling = this.signalling.then(async () => {
      const found = await this.processes.find();
      if (this.running === undefined) this.processes.signal(found, signal);
    });
  }

  private async run(): Promise<boolean> {
    let found = await this.processes.find();
    if (isNothing(found)) return true;
    if ((this.killAt ?? 0) > this.now()) {
      const first = found;
      if (this.interrupt === undefined) this.askToEnd(first);
      else this.interrupt(() => this.askToEnd(first));
      const left = await this.waitUntilGone(
        found,
        () => this.killAt ?? 0,
        (more) => this.askToEnd(more),
      );
      if (left === undefined) return true;
      found = left;
    }
    const kill = (more: FoundProcesses) => this.processes.signal(more, 'SIGKILL');
    for (let kills = 0; kills < killsMax; kills++) {
      kill(found);
      const until = this.now() + killMs;
      const left = await this.waitUntilGone(found, () => until, kill);
      if (left === undefined) return true;
      found = left;
    }
    return false;
  }

  private askToEnd(found: FoundProcesses): void {
    this.processes.signal(found, 'SIGTERM');
    // A paused process cannot end.
    this.processes.signal(found, 'SIGCONT');
  }

  /**
   * Waits until no process is left, or `until` has come, and gives then what is left. Looks for more only when none of those
   * that were found is left; `signalMore` is called for what that shows.
   */
  private async waitUntilGone(
    first: FoundProcesses,
    until: () => number,
    signalMore: (found: FoundProcesses) => void,
  ): Promise<FoundProcesses | undefined> {
    let found = first;
    for (let lookMs = firstPollMs; ; lookMs = Math.min(lookMs * 2, pollMsMax)) {
      if (!this.processes.isAnyLeft(found)) {
        found = await this.processes.find();
        if (isNothing(found)) return undefined;
        signalMore(found);
      }
      const leftMs = until() - this.now();
      if (leftMs <= 0) return this.findLeft();
      await this.sleepUntilWoken(Math.min(lookMs, leftMs));
    }
  }

  /** Undefined when nothing is left. */
  private async findLeft(): Promise<FoundProcesses | undefined> {
    const found = await this.processes.find();
    return isNothing(found) ? undefined : found;
  }

  private async sleepUntilWoken(ms: number): Promise<void> {
    const hurried = new Deferred();
    this.wakeEarly = hurried.resolve;
    await Promise.race([sleep(ms), hurried.promise]);
    this.wakeEarly = undefined;
  }
}
