import { strict as assert } from 'node:assert';
import type Database from 'better-sqlite3';
import type { Channel, ReadTx, WriteTx } from '../../base/store.js';
import type { RowStatements } from '../working-set/row-statements.js';
import type { TableDescription } from '../working-set/table-description.js';
import type { UnitAccess } from '../working-set/unit-access.js';
import type { WorkingSet } from '../working-set/working-set.js';
import type { Connection, Db } from './connection.js';
import type { SqliteReadTx } from './sqlite-read-tx.js';

const control = (_db: Db, raw: Database.Database) => ({
  savepoint: raw.prepare('SAVEPOINT unit'),
  release: raw.prepare('RELEASE unit'),
  rollbackTo: raw.prepare('ROLLBACK TO unit'),
});

/**
 * A unit on the writer's connection. Rows that it changes stay in the working set; a statement of its own first writes what
 * is pending there, and the first one creates its savepoint.
 */
export class SqliteTx implements WriteTx, UnitAccess {
  readonly opaque = true;
  readonly deferred: { readonly channel: Channel<unknown, unknown>; readonly item: unknown }[] = [];
  readonly committed = undefined;
  readonly followUps: (() => void)[] = [];
  hasWritten = false;
  private hasSavepoint = false;

  constructor(
    readonly connection: Connection,
    private readonly mode: 'read' | 'unit' | 'seal',
  ) {}

  get workingSet(): WorkingSet {
    return this.connection.workingSet;
  }

  rowStatements(description: TableDescription): RowStatements {
    return this.connection.rowStatements(description);
  }

  beforeQuery(): void {
    const { workingSet } = this.connection;
    if (!workingSet.hasPending) return;
    workingSet.flushGroup();
    this.ensureSavepoint();
    workingSet.flushUnit();
  }

  beforeChange(): void {
    assert(this.mode !== 'read', 'a read unit may not write');
    this.hasWritten = true;
    this.beforeQuery();
    this.ensureSavepoint();
  }

  afterWrite(): void {
    assert(this.mode !== 'read', 'a read unit may not write');
    this.hasWritten = true;
  }

  defer<T>(channel: Channel<T, unknown>, item: T): void {
    this.afterWrite();
    this.deferred.push({ channel: channel as Channel<unknown, unknown>, item });
  }

  afterUnit(queue: () => void): void {
    this.followUps.push(queue);
  }

  /** Keeps what the unit has changed. */
  release(): void {
    this.connection.workingSet.keepUnit();
    if (this.hasSavepoint) this.connection.statements(control).release.run();
  }

  /** Takes back what the unit has changed. What was read after one of its own statements may come from it, and is forgotten. */
  rollback(): void {
    if (!this.hasSavepoint) {
      this.connection.workingSet.undoUnit();
      return;
    }
    this.connection.workingSet.forget();
    this.connection.statements(control).rollbackTo.run();
    this.connection.statements(control).release.run();
  }

  private ensureSavepoint(): void {
    if (this.hasSavepoint || this.mode !== 'unit') return;
    this.connection.statements(control).savepoint.run();
    this.hasSavepoint = true;
  }
}

type StatementTx = SqliteTx | SqliteReadTx;

/** The statements of a repository on the connection of the caller's unit. */
export function prepareStatements<T>(build: (db: Db, raw: Database.Database) => T): {
  read(tx: ReadTx): T;
  write(tx: WriteTx): T;
  /** For statements that change rows which the working set may know: it forgets what it knows. */
  rewrite(tx: WriteTx): T;
} {
  return {
    read: (tx) => {
      (tx as StatementTx).beforeQuery();
      return (tx as StatementTx).connection.statements(build);
    },
    write: (tx) => {
      (tx as StatementTx).beforeChange();
      return (tx as StatementTx).connection.statements(build);
    },
    rewrite: (tx) => {
      (tx as StatementTx).beforeChange();
      (tx as SqliteTx).workingSet.forget();
      return (tx as StatementTx).connection.statements(build);
    },
  };
}

/** The result of a write without one: SQLite is synchronous, so the write is done when the call returns. */
export const done: Promise<void> = Promise.resolve();
