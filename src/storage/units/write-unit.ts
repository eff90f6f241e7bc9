import { strict as assert } from 'node:assert';
import type { Channel, WriteTx } from '../../base/store.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';
import type { RowStatements } from '../working-set/row-statements.js';
import type { TableDescription } from '../working-set/table-description.js';
import type { UnitAccess } from '../working-set/unit-access.js';
import type { WorkingSet } from '../working-set/working-set.js';
import type { UnitConnection } from './unit-connection.js';

const control = (_db: Db, raw: StatementConnection) => ({
  savepoint: raw.prepare('SAVEPOINT unit'),
  release: raw.prepare('RELEASE unit'),
  rollbackTo: raw.prepare('ROLLBACK TO unit'),
});

/**
 * A unit on the writer's connection. Rows that it changes stay in the working set; a statement of its own first writes what
 * is pending there, and the first one creates its savepoint.
 */
export class WriteUnit implements WriteTx, UnitAccess {
  readonly opaque = true;
  readonly deferred: { readonly channel: Channel<unknown, unknown>; readonly item: unknown }[] = [];
  readonly committed = undefined;
  readonly followUps: (() => void)[] = [];
  hasWritten = false;
  private hasSavepoint = false;

  constructor(
    readonly connection: UnitConnection,
    private readonly mode: 'read' | 'unit' | 'seal',
  ) {}

  get workingSet(): WorkingSet {
    return this.connection.workingSet;
  }

  statements<T>(build: (db: Db, connection: StatementConnection) => T): T {
    return this.connection.statements(build);
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
    this.connection.workingSet.forgetUnit();
    this.connection.statements(control).rollbackTo.run();
    this.connection.statements(control).release.run();
  }

  private ensureSavepoint(): void {
    if (this.hasSavepoint || this.mode !== 'unit') return;
    this.connection.statements(control).savepoint.run();
    this.hasSavepoint = true;
  }
}
