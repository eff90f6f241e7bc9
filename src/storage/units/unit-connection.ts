import type { Db, StatementConnection } from '../statements/statement-connection.js';
import type { RowStatements } from '../working-set/row-statements.js';
import type { TableDescription } from '../working-set/table-description.js';
import type { WorkingSet } from '../working-set/working-set.js';

/** The connection of a writer: units run on it one after another. */
export interface UnitConnection {
  readonly workingSet: WorkingSet;
  /** The statements that `build` prepares, prepared once per connection. */
  statements<T>(build: (db: Db, connection: StatementConnection) => T): T;
  rowStatements(description: TableDescription): RowStatements;
}
