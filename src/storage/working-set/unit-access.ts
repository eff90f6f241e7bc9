import type { Db, StatementConnection } from '../statements/statement-connection.js';
import type { RowStatements } from './row-statements.js';
import type { TableDescription } from './table-description.js';
import type { WorkingSet } from './working-set.js';

/** What a unit gives repositories to reach the working set and the database. Every transaction of a store has it. */
export interface UnitAccess {
  /** Of a write unit: what it reads and changes. */
  readonly workingSet: WorkingSet | undefined;
  /** Of a read unit that is answered from memory: what is committed and known. Asked for before every read of it. */
  readonly committed: WorkingSet | undefined;
  /** The statements that `build` prepares, prepared once per connection. */
  statements<T>(build: (db: Db, connection: StatementConnection) => T): T;
  /** The statements by which rows are read by key. */
  rowStatements(description: TableDescription): RowStatements;
  /** Called before every statement that reads more than rows by key. */
  beforeQuery(): void;
  /** Called before every statement that writes. */
  beforeChange(): void;
  /** Called after rows were changed in the working set. */
  afterWrite(): void;
}
