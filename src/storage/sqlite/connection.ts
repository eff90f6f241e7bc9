import Database from 'better-sqlite3';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { type Dialect, sqliteDialect } from '../statements/dialect.js';
import type { Db, RawStatement, StatementConnection } from '../statements/statement-connection.js';
import { RowStatements } from '../working-set/row-statements.js';
import type { TableDescription } from '../working-set/table-description.js';
import { WorkingSet } from '../working-set/working-set.js';

/** One SQLite connection with the statements that are prepared on it. */
export class Connection implements StatementConnection {
  readonly dialect: Dialect = sqliteDialect;
  readonly raw: Database.Database;
  readonly db: Db;
  private readonly prepared = new Map<unknown, unknown>();
  private readonly rowStatementsOf: RowStatements[] = [];
  /** The rows that units of this connection have read or changed. */
  readonly workingSet = new WorkingSet(this);

  constructor(path: string, options: { readonly: boolean }) {
    // No busy handler: it would block the thread, and with it a kernel of this program that holds the lock. The queues
    // wait.
    this.raw = new Database(path, { readonly: options.readonly, timeout: 0 });
    try {
      this.configure();
    } catch (error) {
      this.raw.close();
      throw error;
    }
    this.db = drizzle(this.raw) as object as Db;
  }

  /** The statements that `build` prepares, prepared once per connection. */
  statements<T>(build: (db: Db, connection: StatementConnection) => T): T {
    let statements = this.prepared.get(build) as T | undefined;
    if (statements === undefined) {
      statements = build(this.db, this);
      this.prepared.set(build, statements);
    }
    return statements;
  }

  prepare<Values extends readonly unknown[] = [], Row = unknown>(text: string): RawStatement<Values, Row> {
    return this.raw.prepare(text) as object as RawStatement<Values, Row>;
  }

  /** The statements that read and write whole rows of a table. */
  rowStatements(description: TableDescription): RowStatements {
    this.rowStatementsOf[description.number] ??= new RowStatements(this, description);
    return this.rowStatementsOf[description.number] as RowStatements;
  }

  private configure(): void {
    this.raw.pragma('foreign_keys = ON');
    // Erased payloads of the audit log must not stay in free pages of the file.
    this.raw.pragma('secure_delete = ON');
    this.raw.pragma('temp_store = MEMORY');
    this.raw.pragma('cache_size = -16000');
  }

  close(): void {
    this.raw.close();
  }
}
