import { performance } from 'node:perf_hooks';
import type Database from 'better-sqlite3';
import type { KernelError } from '../../base/errors.js';
import { StoreError } from '../../base/errors.js';
import type { Channel, WriteTx } from '../../base/store.js';
import { Turns } from '../../base/turns.js';
import type { Connection, Db } from './connection.js';
import { Fifo } from './fifo.js';
import { backoff, type FileLock } from './file-lock.js';
import { isBusy, toKernelError } from './sqlite-errors.js';
import { SqliteTx } from './sqlite-tx.js';

const groupUnitsMax = 256;
const groupMs = 10;
/** Rows that are written at the end of a group before the event loop may have a turn. */
const rowsPerTurn = 250;
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
  dataVersion: raw.prepare('PRAGMA data_version').pluck(),
});

/**
 * Group commit. Units that wait together run in one transaction, strictly one after another, a savepoint each; their
 * promises settle after the COMMIT. Each group has one turn of the event loop.
 */
export class WriteQueue {
  private readonly waiting = new Fifo<Unit>();
  private draining = false;
  /** Since when the file has been busy, in real time; undefined after a BEGIN that succeeded. */
  private busySince: number | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly lock: FileLock,
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

  /** Runs `work` between two groups, when no transaction of this program is open. */
  runAlone(work: () => void | Promise<void>): Promise<void> {
    return this.lock.run(async () => work());
  }

  /** Resolves when nothing is queued or running. */
  async waitUntilIdle(): Promise<void> {
    while (this.draining) await new Promise((resolve) => setImmediate(resolve));
  }

  private async drain(): Promise<void> {
    for (let attempt = 0; this.waiting.length > 0; ) {
      const ran = await this.lock.run(() => this.runGroup());
      attempt = ran ? 0 : attempt + 1;
      if (ran) await new Promise((resolve) => setImmediate(resolve));
      else await backoff(attempt);
    }
    this.draining = false;
  }

  /** Runs one group; false when the file was busy and nothing was done. */
  private async runGroup(): Promise<boolean> {
    try {
      this.begin();
    } catch (error) {
      this.rejectWaiting(error);
      return false;
    }
    this.busySince = undefined;
    const group = new Group(this.connection);
    const until = performance.now() + groupMs;
    try {
      while (group.size < groupUnitsMax && group.isIntact && performance.now() < until) {
        // Deferred items are written with the commit, so a read that follows waits for the next group.
        if (group.hasWritten && this.waiting.head?.mode === 'read') break;
        const unit = this.waiting.shift();
        if (unit === undefined) break;
        await group.run(unit);
      }
      await group.commit();
    } catch (error) {
      group.fail(error);
      return true;
    }
    if (group.hasWritten) this.onCommit();
    await group.settle();
    return true;
  }

  private begin(): void {
    const { raw, workingSet } = this.connection;
    const { begin, dataVersion } = this.connection.statements(control);
    begin.run();
    try {
      workingSet.beginGroup(dataVersion.get());
    } catch (error) {
      raw.exec('ROLLBACK');
      throw error;
    }
  }

  /** Rejects the units that have waited too long for a busy file; time spent behind other units does not count. */
  private rejectWaiting(error: unknown): void {
    const now = performance.now();
    this.busySince ??= now;
    const since = this.busySince;
    const isRejected = (unit: Unit) => !isBusy(error) || now - Math.max(unit.queuedAt, since) >= busyMs;
    for (const unit of this.waiting.remove(isRejected)) unit.reject(toKernelError(error));
  }
}

/** The units of one transaction; their promises settle after its end. */
class Group {
  hasWritten = false;
  private readonly units: Unit[] = [];
  private readonly settlements: (() => void)[] = [];
  private readonly deferred = new Map<Channel<unknown, unknown>, unknown[]>();
  private readonly publications: (() => void)[] = [];
  /** After long units, the COMMIT and each publication have turns of the event loop of their own. */
  private readonly turns = new Turns();

  constructor(private readonly connection: Connection) {}

  get size(): number {
    return this.units.length;
  }

  /**
   * False when SQLite has ended the transaction itself, for example because the disk is full; the whole group is lost
   * then.
   */
  get isIntact(): boolean {
    return this.connection.raw.inTransaction;
  }

  async run(unit: Unit): Promise<void> {
    this.units.push(unit);
    const tx = new SqliteTx(this.connection, unit.mode);
    try {
      const value = await unit.work(tx);
      tx.release();
      this.collectDeferred(tx);
      this.settlements.push(() => unit.resolve(value));
      for (const queue of tx.followUps) queue();
    } catch (error) {
      if (!this.isIntact) throw error;
      tx.rollback();
      this.settlements.push(() => unit.reject(toKernelError(error)));
    }
  }

  private collectDeferred(tx: SqliteTx): void {
    this.hasWritten ||= tx.hasWritten;
    for (const { channel, item } of tx.deferred) {
      const items = this.deferred.get(channel);
      if (items === undefined) this.deferred.set(channel, [item]);
      else items.push(item);
    }
  }

  async commit(): Promise<void> {
    while (this.connection.workingSet.flushGroup(rowsPerTurn)) await this.turns.next();
    const tx = new SqliteTx(this.connection, 'seal');
    for (const [channel, items] of this.deferred) {
      this.assertIntact();
      const sealed = await channel.seal(tx, items);
      this.publications.push(() => channel.committed(sealed));
    }
    await this.turns.next();
    this.connection.statements(control).commit.run();
    this.connection.workingSet.endGroup();
  }

  /** Rows that are written after the transaction has ended would be committed on their own. */
  private assertIntact(): void {
    if (this.isIntact) return;
    throw new StoreError('STORE_FAILED', 'The transaction ended before it could be committed.', {
      hint: 'Nothing of this call was kept; try again.',
      retryable: true,
    });
  }

  async settle(): Promise<void> {
    for (const publish of this.publications) {
      await this.turns.next();
      publish();
    }
    for (const settle of this.settlements) settle();
  }

  fail(error: unknown): void {
    if (this.isIntact) this.connection.raw.exec('ROLLBACK');
    this.connection.workingSet.abandonGroup();
    const refusal = toKernelError(error);
    for (const unit of this.units) unit.reject(refusal);
  }
}

export function storeClosed(): StoreError {
  return new StoreError('KERNEL_CLOSED', 'The kernel has been shut down.', {
    hint: 'Open a new one with createKernel.',
  });
}
