import { performance } from 'node:perf_hooks';
import type Database from 'better-sqlite3';
import type { ReadTx } from '../../base/store.js';
import type { Connection, Db } from './connection.js';
import { Fifo } from './fifo.js';
import { backoff } from './file-locks.js';
import { isBusy, toKernelError } from './sqlite-errors.js';
import { SqliteTx } from './sqlite-tx.js';
import { busyMs } from './write-queue.js';

const control = (_db: Db, raw: Database.Database) => ({
  begin: raw.prepare('BEGIN'),
  commit: raw.prepare('COMMIT'),
});

const turnMs = 10;

/** Read units of one connection, one BEGIN…COMMIT each: no snapshot outlives its unit. */
export class ReadQueue {
  private readonly waiting = new Fifo<() => Promise<void>>();
  private draining = false;

  constructor(private readonly connection: Connection) {}

  run<T>(work: (tx: ReadTx) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.waiting.push(() => this.unit(work).then(resolve, (error) => reject(toKernelError(error))));
      if (this.draining) return;
      this.draining = true;
      setImmediate(() => void this.drain());
    });
  }

  async settled(): Promise<void> {
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

  /** Readers meet a lock only while another program recovers the write-ahead log; then the unit is begun again. */
  private async unit<T>(work: (tx: ReadTx) => Promise<T>): Promise<T> {
    const control_ = this.connection.statements(control);
    const until = performance.now() + busyMs;
    for (let attempt = 1; ; attempt++) {
      try {
        control_.begin.run();
        return await work(new SqliteTx(this.connection, 'read'));
      } catch (error) {
        if (!isBusy(error) || performance.now() > until) throw error;
      } finally {
        if (this.connection.raw.inTransaction) control_.commit.run();
      }
      await backoff(attempt);
    }
  }
}
