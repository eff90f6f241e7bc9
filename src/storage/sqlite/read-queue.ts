import { performance } from 'node:perf_hooks';
import type { ReadTx } from '../../base/store.js';
import { Fifo } from '../units/fifo.js';
import { MemoryReadUnit, OutdatedRead } from '../units/memory-read-unit.js';
import type { WorkingSet } from '../working-set/working-set.js';
import type { Connection } from './connection.js';
import { backoff } from './file-lock.js';
import { busyMs } from './retry-while-busy.js';
import { isBusy, toKernelError } from './sqlite-errors.js';
import { SqliteReadTx } from './sqlite-read-tx.js';

const turnMs = 10;

/** Read units that are answered from memory at once, in one turn of the event loop; further ones wait for the next. */
const atOnceMax = 64;

/** What is committed and known to the writer. */
interface CommittedMemory {
  readonly workingSet: WorkingSet;
  /** Whether the working set is what is committed, also by others. */
  isCurrent(): boolean;
}

/** Runs read units: at once from memory where it knows everything, otherwise one after another on one connection. */
export class ReadQueue {
  private readonly waiting = new Fifo<() => Promise<void>>();
  private draining = false;
  private leftAtOnce = atOnceMax;
  /** Whether nobody else had committed when it was looked at in this turn; undefined until it is. */
  private isCurrent: boolean | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly memory: CommittedMemory,
  ) {}

  async run<T>(work: (tx: ReadTx) => Promise<T>): Promise<T> {
    if (this.leftAtOnce > 0 && this.isMemoryCurrent()) {
      this.leftAtOnce--;
      try {
        return await work(new MemoryReadUnit(this.memory.workingSet));
      } catch (error) {
        if (!(error instanceof OutdatedRead)) throw toKernelError(error);
      }
    }
    return this.queue(work);
  }

  /** Resolves when nothing is queued or running. */
  async waitUntilIdle(): Promise<void> {
    while (this.draining) await new Promise((resolve) => setImmediate(resolve));
  }

  /** To be called when another store of this program has committed: what was looked at before does not hold. */
  lookAgain(): void {
    if (this.isCurrent !== undefined) this.isCurrent = this.memory.isCurrent();
  }

  private queue<T>(work: (tx: ReadTx) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.waiting.push(() => this.runUnit(work).then(resolve, (error) => reject(toKernelError(error))));
      if (this.draining) return;
      this.draining = true;
      setImmediate(() => void this.drain());
    });
  }

  private isMemoryCurrent(): boolean {
    if (this.isCurrent === undefined) {
      setImmediate(() => {
        this.isCurrent = undefined;
        this.leftAtOnce = atOnceMax;
      });
      this.isCurrent = this.memory.isCurrent();
    }
    return this.isCurrent;
  }

  private async drain(): Promise<void> {
    let until = performance.now() + turnMs;
    for (let next = this.waiting.shift(); next !== undefined; next = this.waiting.shift()) {
      await next();
      if (performance.now() < until) continue;
      await new Promise((resolve) => setImmediate(resolve));
      until = performance.now() + turnMs;
    }
    this.draining = false;
  }

  /** Readers find the file locked only while another program recovers the write-ahead log; the unit is then retried. */
  private async runUnit<T>(work: (tx: ReadTx) => Promise<T>): Promise<T> {
    const until = performance.now() + busyMs;
    for (let attempt = 1; ; attempt++) {
      const tx = new SqliteReadTx(this.connection);
      try {
        return await work(tx).finally(() => tx.end());
      } catch (error) {
        if (!isBusy(error) || performance.now() > until) throw error;
      }
      await backoff(attempt);
    }
  }
}
