import { performance } from 'node:perf_hooks';
import type Database from 'better-sqlite3';
import type { ReadTx } from '../../base/store.js';
import type { Connection, Db } from './connection.js';
import { Fifo } from './fifo.js';
import { backoff } from './file-lock.js';
import { isBusy, toKernelError } from './sqlite-errors.js';
import { SqliteTx } from './sqlite-tx.js';
import { busyMs } from './write-queue.js';

const control = (_db: Db, raw: Database.Database) => ({
  begin: raw.prepare('BEGIN'),
  commit: raw.prepare('COMMIT'),
});

const turnMs = 10;

/** Runs read units on one connection, each in its own BEGIN…COMMIT: no snapshot outlives its unit. */
export class ReadQueue {
  private readonly waiting = new Fifo<() => Promise<void>>();
  private draining = false;

  constructor(private readonly connection: Connection) {}

  run<T>(work: (tx: ReadTx) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.waiting.push(() => this.runUnit(work).then(resolve, (error) => reject(toKernelError(error))));
      if (this.draining) return;
      this.draining = true;
      setImmediate(() => void this.drain());
    });
  }

  /** Resolves when nothing is queued or running. */
  async waitUntilIdle(): Promise<void> {
    while (this.draining) await new Promise((resolve) => setImmediate(resolve));
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
    const statements = this.connection.statements(control);
    const until = performance.now() + busyMs;
    for (let attempt = 1; ; attempt++) {
      try {
        statements.begin.run();
        return await work(new SqliteTx(this.connection, 'read'));
      } catch (error) {
        if (!isBusy(error) || performance.now() > until) throw error;
      } finally {
        if (this.connection.raw.inTransaction) statements.commit.run();
      }
      await backoff(attempt);
    }
  }
}
