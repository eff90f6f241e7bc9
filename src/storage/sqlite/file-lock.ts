import { setTimeout as sleep } from 'node:timers/promises';
import { Deferred } from '../../base/deferred.js';

/**
 * Lets the kernels of one program write to one file in turn. Without it, a second writer in the same thread would block
 * the thread while it waits for the first one.
 */
export class FileLock {
  private static readonly byPath = new Map<string, FileLock>();
  private lastRelease: Promise<void> = Promise.resolve();
  private readonly members = new Set<() => void>();

  /** The lock of a file, shared by all kernels of this program. */
  static of(path: string): FileLock {
    const lock = FileLock.byPath.get(path) ?? new FileLock();
    FileLock.byPath.set(path, lock);
    return lock;
  }

  /** Adds a kernel. Its `checkNow` is called when another one has committed. */
  join(path: string, checkNow: () => void): Disposable {
    this.members.add(checkNow);
    return {
      [Symbol.dispose]: () => {
        this.members.delete(checkNow);
        if (this.members.size === 0) FileLock.byPath.delete(path);
      },
    };
  }

  /** Runs `work` while no other kernel of this program writes to the file. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const before = this.lastRelease;
    const released = new Deferred();
    this.lastRelease = released.promise;
    await before;
    try {
      return await work();
    } finally {
      released.resolve();
    }
  }

  /** Calls the `checkNow` of all members but the one that has committed. */
  notifyOthers(committed: () => void): void {
    for (const checkNow of this.members) if (checkNow !== committed) checkNow();
  }
}

/** A pause that grows with the number of attempts and differs between programs that wait for the same lock. */
export function backoff(attempt: number): Promise<void> {
  return sleep(1 + Math.random() * Math.min(40, 2 ** attempt));
}
