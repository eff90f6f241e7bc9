import { strict as assert } from 'node:assert';
import type { ReadTx } from '../../base/store.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';
import type { RowStatements } from '../working-set/row-statements.js';
import type { TableDescription } from '../working-set/table-description.js';
import type { UnitAccess } from '../working-set/unit-access.js';
import type { Connection } from './connection.js';

const control = (_db: Db, raw: StatementConnection) => ({
  begin: raw.prepare('BEGIN'),
  commit: raw.prepare('COMMIT'),
});

/** A read unit that is answered by statements, in a transaction on a connection of its own. */
export class SqliteReadTx implements ReadTx, UnitAccess {
  readonly opaque = true;
  readonly workingSet = undefined;
  readonly committed = undefined;
  private hasBegun = false;

  constructor(readonly connection: Connection) {}

  statements<T>(build: (db: Db, connection: StatementConnection) => T): T {
    return this.connection.statements(build);
  }

  rowStatements(description: TableDescription): RowStatements {
    this.beforeQuery();
    return this.connection.rowStatements(description);
  }

  beforeQuery(): void {
    if (this.hasBegun) return;
    this.connection.statements(control).begin.run();
    this.hasBegun = true;
  }

  beforeChange(): void {
    assert.fail('a read unit may not write');
  }

  afterWrite(): void {
    assert.fail('a read unit may not write');
  }

  /** Ends the transaction, if one has begun. */
  end(): void {
    if (this.hasBegun && this.connection.raw.inTransaction) this.connection.statements(control).commit.run();
  }
}
