import { performance } from 'node:perf_hooks';
import type Database from 'better-sqlite3';
import type { KernelError } from '../../base/errors.js';
import { StoreError } from '../../base/errors.js';
import type { Channel, WriteTx } from '../../base/store.js';
import type { Connection, Db } from './connection.js';
import { Fifo } from './fifo.js';
import { backoff, type FileLocks } from './file-locks.js';
import { isBusy, toKernelError } from './sqlite-errors.js';
import { SqliteTx } from './sqlite-tx.js';

const groupUnitsMax = 256;
const groupMs = 10;
export const busyMs = 5_000;

interface Unit {
  readonly work: (tx: WriteTx) => Promise<unknown>;
  readonly mode: 'unit' | 'read';
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: KernelError) => void;
  readonly queuedAt: number;
}

const control = (_db: Db, raw: Database.Database) => ({
  begin: raw.prepare('BEGIN IMMEDIATE'),
  commit: raw.prepare('COMMIT'),
});

/**
 * Group commit. Units that wait together run in one transaction, strictly one after another, a savepoint each; their
 * promises settle after the one COMMIT. A group runs within one turn of the event loop, and every group gets its own.
 */
export class WriteQueue {
  private readonly waiting = new Fifo<Unit>();
  private draining = false;
  /** When the first of the BEGINs failed that have found the file busy since the last one that did not. */
  private busySince: number | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly turns: FileLocks,
    private readonly onCommit: () => void,
  ) {}

  run<T>(work: (tx: WriteTx) => Promise<T>, mode: 'unit' | 'read' = 'unit'): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.waiting.push({
        work,
        mode,
        resolve: resolve as (value: unknown) => void,
        reject,
        queuedAt: performance.now(),
      });
      if (this.draining) return;
      this.draining = true;
      setImmediate(() => void this.drain());
    });
  }

  /** Resolves when nothing is queued or running. */
  async settled(): Promise<void> {
    while (this.draining) await new Promise((resolve) => setImmediate(resolve));
  }

  private async drain(): Promise<void> {
    for (let attempt = 0; this.waiting.length > 0; ) {
      const ran = await this.turns.take(() => this.group());
      attempt = ran ? 0 : attempt + 1;
      if (ran) await new Promise((resolve) => setImmediate(resolve));
      else await backoff(attempt);
    }
    this.draining = false;
  }

  /** Runs one group; false when the file was busy and nothing was done. */
  private async group(): Promise<boolean> {
    try {
      this.connection.statements(control).begin.run();
    } catch (error) {
      this.refuseWaiting(error);
      return false;
    }
    this.busySince = undefined;
    const group = new Group(this.connection);
    const until = performance.now() + groupMs;
    try {
      while (group.size < groupUnitsMax && group.intact && performance.now() < until) {
        // What the units so far have deferred is not written yet: a read behind them comes after the commit.
        if (group.wrote && this.waiting.head?.mode === 'read') break;
        const unit = this.waiting.shift();
        if (unit === undefined) break;
        await group.add(unit);
      }
      await group.commit();
    } catch (error) {
      group.fail(error);
      return true;
    }
    if (group.wrote) this.onCommit();
    group.settle();
    return true;
  }

  /** A busy file refuses those that have waited for it long enough; time spent behind other units does not count. */
  private refuseWaiting(error: unknown): void {
    const now = performance.now();
    this.busySince ??= now;
    const since = this.busySince;
    const isRefused = (unit: Unit) => !isBusy(error) || now - Math.max(unit.queuedAt, since) >= busyMs;
    for (const unit of this.waiting.takeOut(isRefused)) unit.reject(toKernelError(error));
  }
}

/** The units of one transaction and what is to be told to their callers after its end. */
class Group {
  wrote = false;
  private readonly units: Unit[] = [];
  private readonly settlements: (() => void)[] = [];
  private readonly deferred = new Map<Channel<unknown, unknown>, unknown[]>();
  private readonly published: (() => void)[] = [];

  constructor(private readonly connection: Connection) {
    connection.memo.clear();
  }

  get size(): number {
    return this.units.length;
  }

  /** An error such as a full disk makes SQLite end the transaction itself, and with it the whole group. */
  get intact(): boolean {
    return this.connection.raw.inTransaction;
  }

  async add(unit: Unit): Promise<void> {
    this.units.push(unit);
    const tx = new SqliteTx(this.connection, unit.mode);
    try {
      const value = await unit.work(tx);
      tx.keep();
      this.accept(tx);
      this.settlements.push(() => unit.resolve(value));
    } catch (error) {
      if (!this.intact) throw error;
      tx.undo();
      this.settlements.push(() => unit.reject(toKernelError(error)));
    }
  }

  private accept(tx: SqliteTx): void {
    this.wrote ||= tx.wrote;
    for (const { channel, item } of tx.deferred) {
      const items = this.deferred.get(channel);
      if (items === undefined) this.deferred.set(channel, [item]);
      else items.push(item);
    }
  }

  async commit(): Promise<void> {
    const tx = new SqliteTx(this.connection, 'seal');
    for (const [channel, items] of this.deferred) {
      this.assertIntact();
      const sealed = await channel.seal(tx, items);
      this.published.push(() => channel.committed(sealed));
    }
    this.connection.statements(control).commit.run();
  }

  /** What is sealed after the transaction has ended would stand alone, and stay. */
  private assertIntact(): void {
    if (this.intact) return;
    throw new StoreError('STORE_FAILED', 'The transaction ended before it could be committed.', {
      hint: 'Nothing of this call was kept; try again.',
      retryable: true,
    });
  }

  settle(): void {
    for (const publish of this.published) publish();
    for (const settle of this.settlements) settle();
  }

  fail(error: unknown): void {
    if (this.intact) this.connection.raw.exec('ROLLBACK');
    const refusal = toKernelError(error);
    for (const unit of this.units) unit.reject(refusal);
  }
}

export function storeClosed(): StoreError {
  return new StoreError('KERNEL_CLOSED', 'The kernel has been shut down.', {
    hint: 'Open a new one with createKernel.',
  });
}
