import Database from 'better-sqlite3';
import { type BetterSQLite3Database, drizzle } from 'drizzle-orm/better-sqlite3';

export type Db = BetterSQLite3Database;

/** One SQLite connection with the statements that were prepared on it. */
export class Connection {
  readonly raw: Database.Database;
  readonly db: Db;
  private readonly bundles = new Map<unknown, unknown>();
  /** Rows that units of the open transaction have read: nobody else can change them before it ends. */
  readonly memo = new Map<string, unknown>();

  constructor(path: string, options: { readonly: boolean }) {
    // The busy handler blocks the thread, and with it the program that should give the lock back: waiting is the queue's.
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
    let bundle = this.bundles.get(build) as T | undefined;
    if (bundle === undefined) {
      bundle = build(this.db, this.raw);
      this.bundles.set(build, bundle);
    }
    return bundle;
  }

  private configure(): void {
    this.raw.pragma('foreign_keys = ON');
    // What was erased from the audit log is not to be found in the file's free pages.
    this.raw.pragma('secure_delete = ON');
    this.raw.pragma('temp_store = MEMORY');
    this.raw.pragma('cache_size = -16000');
  }

  close(): void {
    this.raw.close();
  }
}
