import { setTimeout as sleep } from 'node:timers/promises';

/** The kernels of one program on one file take turns: a second writer in the same thread could only wait for ever. */
export class FileLocks {
  private static readonly byPath = new Map<string, FileLocks>();
  private tail: Promise<void> = Promise.resolve();
  private readonly members = new Set<() => void>();

  static of(path: string): FileLocks {
    const turns = FileLocks.byPath.get(path) ?? new FileLocks();
    FileLocks.byPath.set(path, turns);
    return turns;
  }

  /** `poke` is called when another member has committed. */
  join(path: string, poke: () => void): Disposable {
    this.members.add(poke);
    return {
      [Symbol.dispose]: () => {
        this.members.delete(poke);
        if (this.members.size === 0) FileLocks.byPath.delete(path);
      },
    };
  }

  async take<T>(work: () => Promise<T>): Promise<T> {
    const before = this.tail;
    let done: () => void = () => undefined;
    this.tail = new Promise((resolve) => {
      done = resolve;
    });
    await before;
    try {
      return await work();
    } finally {
      done();
    }
  }

  committed(by: () => void): void {
    for (const poke of this.members) if (poke !== by) poke();
  }
}

/** A pause that grows with the number of tries and differs between programs that wait for the same lock. */
export function backoff(attempt: number): Promise<void> {
  return sleep(1 + Math.random() * Math.min(40, 2 ** attempt));
}
