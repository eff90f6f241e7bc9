import { inject, injectable } from 'inversify';
import { Deferred } from '../../base/deferred.js';
import type { Pid } from '../../base/ids.js';
import type { KernelEvent } from '../../events/event.js';
import { EventFeed } from '../../events/event-feed.js';
import { startRealLimit, type Timers } from '../../unit/timers.js';

type Wake = (pid: Pid) => void;

/** Wakes waits when an event of certain types comes for a process, from whichever node. */
abstract class ProcessWatch {
  /** Lists, because few waits watch the same process. */
  private readonly watchers = new Map<Pid, Wake[]>();

  /** Handles the events that subclasses subscribe to. */
  protected readonly notify = ({ pid = '' }: KernelEvent): void => {
    for (const wake of [...(this.watchers.get(pid) ?? [])]) wake(pid);
  };

  /** Calls `wake` with each of `pids` for which an event comes, until disposed. */
  watch(pids: Iterable<Pid>, wake: Wake): Disposable {
    const watched = [...new Set(pids)];
    for (const pid of watched) {
      const wakes = this.watchers.get(pid);
      if (wakes === undefined) this.watchers.set(pid, [wake]);
      else wakes.push(wake);
    }
    return { [Symbol.dispose]: () => this.unwatch(watched, wake) };
  }

  /** Wakes all waits, so that they find the store closed. */
  close(): void {
    for (const [pid, wakes] of [...this.watchers]) for (const wake of wakes) wake(pid);
  }

  private unwatch(pids: readonly Pid[], wake: Wake): void {
    for (const pid of pids) {
      const remaining = this.watchers.get(pid)?.filter((watcher) => watcher !== wake) ?? [];
      if (remaining.length === 0) this.watchers.delete(pid);
      else this.watchers.set(pid, remaining);
    }
  }
}

/** Watches for processes that end or are stopped. */
@injectable()
export class ExitWatch extends ProcessWatch {
  constructor(@inject(EventFeed) feed: EventFeed) {
    super();
    feed.subscribe('exits', { 'process.exited': this.notify, 'process.stopping': this.notify });
  }
}

/** Watches for messages, signals and answers of processes, and for the ends and stops after which none can be taken. */
@injectable()
export class InboxWatch extends ProcessWatch {
  constructor(@inject(EventFeed) feed: EventFeed) {
    super();
    feed.subscribe('inbox', {
      'message.sent': this.notify,
      'process.signalled': this.notify,
      'question.answered': this.notify,
      'process.stopping': this.notify,
      'process.exited': this.notify,
    });
  }
}

/** Watches for turns, answers and questions of agents, and for their ends. */
@injectable()
export class AgentWatch extends ProcessWatch {
  constructor(@inject(EventFeed) feed: EventFeed) {
    super();
    feed.subscribe('agents', {
      'turn.committed': this.notify,
      'turn.answered': this.notify,
      'question.asked': this.notify,
      'process.exited': this.notify,
    });
  }
}

/** Watches for processes that are resumed, or stopped while they are paused. */
@injectable()
export class ResumeWatch extends ProcessWatch {
  constructor(@inject(EventFeed) feed: EventFeed) {
    super();
    feed.subscribe('resumes', {
      'process.resumed': this.notify,
      'process.stopping': this.notify,
      'process.exited': this.notify,
    });
  }
}

/** The timeout of a wait, and the signal that aborts it. */
export interface WaitLimits {
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Collects the processes that a wait was notified of. The timeout and the caller's signal wake it too. The timeout counts
 * real time, or as `timers` count it where they are given.
 */
export class Notifier {
  expired: boolean;
  private pids: Set<Pid> | undefined;
  private woken = new Deferred();
  private readonly timer: Disposable | undefined;

  constructor(
    private readonly limits: WaitLimits,
    timers?: Timers,
  ) {
    const { timeoutMs, signal } = limits;
    this.expired = timeoutMs === 0;
    if (timeoutMs !== undefined) {
      this.timer =
        timers === undefined ? startRealLimit(timeoutMs, this.expire) : timers.startLimit(timeoutMs, this.expire);
    }
    signal?.addEventListener('abort', this.wake);
  }

  notify(pid: Pid): void {
    this.pids ??= new Set();
    this.pids.add(pid);
    this.wake();
  }

  /**
   * The processes notified since the last call; none when the timeout or the signal woke it. Not an async function, whose frame
   * takes more memory: thousands of processes may wait here.
   */
  next(): Promise<ReadonlySet<Pid>> {
    return this.woken.promise.then(() => this.takeNotified());
  }

  private takeNotified(): ReadonlySet<Pid> {
    this.woken = new Deferred();
    const { pids = new Set() } = this;
    this.pids = undefined;
    return pids;
  }

  [Symbol.dispose](): void {
    this.timer?.[Symbol.dispose]();
    this.limits.signal?.removeEventListener('abort', this.wake);
  }

  private readonly wake = (): void => {
    this.woken.resolve();
  };

  private readonly expire = (): void => {
    this.expired = true;
    this.wake();
  };
}
