import { inject, injectable } from 'inversify';
import { Deferred } from '../../base/deferred.js';
import type { Pid } from '../../base/ids.js';
import { timerMsMax } from '../../base/spec.js';
import type { KernelEvent } from '../../events/event.js';
import { EventFeed } from '../../events/event-feed.js';

type Wake = (pid: Pid) => void;

/** Tells who waits that something of a certain kind has happened to a process, on whichever node that was. */
export abstract class ProcessWatch {
  /** Lists, since few watch the same one, and many may wait. */
  private readonly watchers = new Map<Pid, Wake[]>();

  /** Handles an event that its watchers wait for. */
  protected readonly notify = ({ pid = '' }: KernelEvent): void => {
    for (const wake of [...(this.watchers.get(pid) ?? [])]) wake(pid);
  };

  /** Calls `wake` with each of `pids` that it may have happened to, until disposed. */
  watch(pids: Iterable<Pid>, wake: Wake): Disposable {
    const watched = [...new Set(pids)];
    for (const pid of watched) {
      const wakes = this.watchers.get(pid);
      if (wakes === undefined) this.watchers.set(pid, [wake]);
      else wakes.push(wake);
    }
    return { [Symbol.dispose]: () => this.unwatch(watched, wake) };
  }

  /** Wakes everybody, for the last time: what they look at next is closed. */
  close(): void {
    for (const [pid, wakes] of [...this.watchers]) for (const wake of wakes) wake(pid);
  }

  private unwatch(pids: readonly Pid[], wake: Wake): void {
    for (const pid of pids) {
      const others = this.watchers.get(pid)?.filter((other) => other !== wake) ?? [];
      if (others.length === 0) this.watchers.delete(pid);
      else this.watchers.set(pid, others);
    }
  }
}

/** Tells who waits that a process has ended or is being stopped. */
@injectable()
export class ExitWatch extends ProcessWatch {
  constructor(@inject(EventFeed) feed: EventFeed) {
    super();
    feed.subscribe('exits', { 'process.exited': this.notify, 'process.stopping': this.notify });
  }
}

/** Tells who waits that a message or a signal has come for its process, or that this will come to nothing. */
@injectable()
export class InboxWatch extends ProcessWatch {
  constructor(@inject(EventFeed) feed: EventFeed) {
    super();
    feed.subscribe('inbox', {
      'message.sent': this.notify,
      'process.signalled': this.notify,
      'process.stopping': this.notify,
      'process.exited': this.notify,
    });
  }
}

/** How long a caller is willing to wait. */
export interface WaitLimits {
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Collects what has rung while nobody listened; time and the caller's signal ring too. */
export class Notifier {
  expired: boolean;
  private pids: Set<Pid> | undefined;
  private woken = new Deferred();
  private readonly timer: NodeJS.Timeout | undefined;

  constructor(private readonly limits: WaitLimits) {
    const { timeoutMs, signal } = limits;
    this.expired = timeoutMs === 0;
    this.timer = timeoutMs === undefined ? undefined : setTimeout(this.expire, Math.min(timeoutMs, timerMsMax));
    signal?.addEventListener('abort', this.wake);
  }

  notify(pid: Pid): void {
    this.pids ??= new Set();
    this.pids.add(pid);
    this.wake();
  }

  /** Those that have rung since it was last asked; none where it was time or the signal. */
  async next(): Promise<ReadonlySet<Pid>> {
    await this.woken.promise;
    this.woken = new Deferred();
    const { pids = new Set() } = this;
    this.pids = undefined;
    return pids;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.timer);
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
