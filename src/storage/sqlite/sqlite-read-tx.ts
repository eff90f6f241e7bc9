import { strict as assert } from 'node:assert';
import type { ReadTx } from '../../base/store.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';
import type { RowStatements } from '../working-set/row-statements.js';
import type { TableDescription } from '../working-set/table-description.js';
import type { UnitAccess } from '../working-set/unit-access.js';
import type { WorkingSet } from '../working-set/working-set.js';
import type { Connection } from './connection.js';

const control = (_db: Db, raw: StatementConnection) => ({
  begin: raw.prepare('BEGIN'),
  commit: raw.prepare('COMMIT'),
});

/** What is committed and known to the writer. */
export interface CommittedMemory {
  readonly workingSet: WorkingSet;
  /** Whether the working set is what is committed, also by others. */
  isCurrent(): boolean;
}

/**
 * A read unit: answered from what the writer knows to be committed, or by statements in a transaction on a connection of its
 * own. One state is never mixed with another: a unit from memory that needs a statement, or that memory has changed under, is
 * given up with OutdatedRead, and run again on the connection.
 */
export class SqliteReadTx implements ReadTx, UnitAccess {
  readonly opaque = true;
  readonly workingSet = undefined;
  private hasBegun = false;
  private readonly version: number | undefined;

  constructor(
    readonly connection: Connection,
    private readonly memory?: WorkingSet,
  ) {
    this.version = memory?.version;
  }

  get committed(): WorkingSet | undefined {
    if (this.memory === undefined) return undefined;
    if (this.memory.version !== this.version || this.memory.isInGroup) throw outdatedRead;
    return this.memory;
  }

  statements<T>(build: (db: Db, connection: StatementConnection) => T): T {
    return this.connection.statements(build);
  }

  rowStatements(description: TableDescription): RowStatements {
    this.beforeQuery();
    return this.connection.rowStatements(description);
  }

  beforeQuery(): void {
    if (this.memory !== undefined) throw outdatedRead;
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

/** Makes a read unit run again, without memory. */
export class OutdatedRead extends Error {}

/** One for all: a stack for each would cost more than the read. */
const outdatedRead = new OutdatedRead('what was read from memory has changed, or is not known');
