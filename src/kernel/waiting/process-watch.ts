import type { Pid } from '../../base/ids.js';
import type { KernelEvent } from '../../events/event.js';

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
