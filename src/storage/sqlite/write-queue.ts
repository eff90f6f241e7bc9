import { performance } from 'node:perf_hooks';
import type { WriteTx } from '../../base/store.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';
import { Fifo } from '../units/fifo.js';
import { type GroupTransaction, groupMs, groupUnitsMax, type QueuedUnit, UnitGroup } from '../units/unit-group.js';
import type { Connection } from './connection.js';
import { backoff, type FileLock } from './file-lock.js';
import { busyMs } from './retry-while-busy.js';
import { isBusy, isFaultOfUnit, toKernelError } from './sqlite-errors.js';

interface Unit extends QueuedUnit {
  readonly queuedAt: number;
}

const control = (_db: Db, raw: StatementConnection) => ({
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
  /** The units of a group in which one was refused by the engine: each is run again in a transaction of its own. */
  private readonly apart = new Fifo<Unit>();
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
    for (let attempt = 0; this.waiting.length + this.apart.length > 0; ) {
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
    const group = new UnitGroup(this.connection, this.transaction);
    try {
      await this.runUnits(group);
      await group.commit();
    } catch (error) {
      if (isFaultOfUnit(error) && group.size > 1) {
        for (const unit of await group.takeBack()) this.apart.push(unit as Unit);
      } else {
        await group.fail(error);
      }
      return true;
    }
    if (group.hasWritten) this.onCommit();
    await group.settle();
    return true;
  }

  private async runUnits(group: UnitGroup): Promise<void> {
    const alone = this.apart.shift();
    if (alone !== undefined) return group.run(alone);
    const until = performance.now() + groupMs;
    while (group.size < groupUnitsMax && group.isIntact && performance.now() < until) {
      // Deferred items are written with the commit, so a read that follows waits for the next group.
      if (group.hasWritten && this.waiting.head?.mode === 'read') return;
      const unit = this.waiting.shift();
      if (unit === undefined) return;
      await group.run(unit);
    }
  }

  /** How a group finds out about its transaction and ends it. */
  private readonly transaction: GroupTransaction = {
    isIntact: () => this.connection.raw.inTransaction,
    commit: () => {
      this.connection.statements(control).commit.run();
      return undefined;
    },
    rollback: () => void this.connection.raw.exec('ROLLBACK'),
    toKernelError,
  };

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
    for (const queue of [this.apart, this.waiting]) {
      for (const unit of queue.remove(isRejected)) unit.reject(toKernelError(error));
    }
  }
}
