import { inject, injectable } from 'inversify';
import type { Pid } from '../base/ids.js';
import { EventFeed } from '../events/event-feed.js';

type Wake = (pid: Pid) => void;

/** Tells who waits that a process has ended or is being stopped, on whichever node that happened. */
@injectable()
export class EndWatch {
  private readonly watchers = new Map<Pid, Set<Wake>>();

  constructor(@inject(EventFeed) feed: EventFeed) {
    feed.subscribe((events) => {
      for (const { type, pid } of events) {
        if (pid === undefined || (type !== 'process.exited' && type !== 'process.stopping')) continue;
        for (const wake of this.watchers.get(pid) ?? []) wake(pid);
      }
    });
  }

  /** Calls `wake` with each of `pids` that may have ended, until disposed. */
  watch(pids: Iterable<Pid>, wake: Wake): Disposable {
    const watched = new Set(pids);
    for (const pid of watched) {
      const wakes = this.watchers.get(pid) ?? new Set();
      this.watchers.set(pid, wakes.add(wake));
    }
    return { [Symbol.dispose]: () => this.unwatch(watched, wake) };
  }

  /** Wakes everybody, for the last time: what they look at next is closed. */
  close(): void {
    for (const [pid, wakes] of [...this.watchers]) for (const wake of wakes) wake(pid);
  }

  private unwatch(pids: ReadonlySet<Pid>, wake: Wake): void {
    for (const pid of pids) {
      const wakes = this.watchers.get(pid);
      wakes?.delete(wake);
      if (wakes?.size === 0) this.watchers.delete(pid);
    }
  }
}
