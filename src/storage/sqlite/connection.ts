import Database from 'better-sqlite3';
import { type BetterSQLite3Database, drizzle } from 'drizzle-orm/better-sqlite3';
import { RowStatements } from '../working-set/row-statements.js';
import type { TableDescription } from '../working-set/table-description.js';
import { WorkingSet } from '../working-set/working-set.js';

export type Db = BetterSQLite3Database;

/** One SQLite connection with the statements that are prepared on it. */
export class Connection {
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
    this.db = drizzle(this.raw);
  }

  /** The statements that `build` prepares, prepared once per connection. */
  statements<T>(build: (db: Db, raw: Database.Database) => T): T {
    let statements = this.prepared.get(build) as T | undefined;
    if (statements === undefined) {
      statements = build(this.db, this.raw);
      this.prepared.set(build, statements);
    }
    return statements;
  }

  /** The statements that read and write whole rows of a table. */
  rowStatements(description: TableDescription): RowStatements {
    this.rowStatementsOf[description.number] ??= new RowStatements(this.raw, description);
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
