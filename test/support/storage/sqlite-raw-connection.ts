import Database from 'better-sqlite3';
import type { RawConnection, RawRow, RawStatement } from './raw-connection.js';

export class SqliteRawConnection implements RawConnection {
  private constructor(private readonly db: Database.Database) {}

  static async open(path: string): Promise<SqliteRawConnection> {
    const db = new Database(path);
    db.pragma('busy_timeout = 5000');
    return new SqliteRawConnection(db);
  }

  async run(statements: readonly RawStatement[]): Promise<RawRow[][]> {
    const runOne = ([text, ...values]: RawStatement): RawRow[] => {
      const statement = this.db.prepare<unknown[], RawRow>(text);
      if (statement.reader) return statement.all(...values);
      statement.run(...values);
      return [];
    };
    const [only, ...others] = statements;
    if (only !== undefined && others.length === 0) return [runOne(only)];
    return this.db.transaction(() => statements.map(runOne))();
  }

  async orderOf(): Promise<undefined> {
    return undefined;
  }

  async snapshot<T>(read: () => Promise<T>): Promise<T> {
    this.db.exec('BEGIN');
    try {
      return await read();
    } finally {
      this.db.exec('COMMIT');
    }
  }

  async lock(): Promise<AsyncDisposable> {
    this.db.exec('BEGIN IMMEDIATE');
    return { [Symbol.asyncDispose]: async () => void this.db.exec('COMMIT') };
  }

  async refuse(change: 'INSERT' | 'UPDATE', table: string): Promise<AsyncDisposable> {
    this.db.exec(`CREATE TRIGGER refused BEFORE ${change} ON ${table} BEGIN SELECT RAISE(ABORT, 'refused'); END`);
    return { [Symbol.asyncDispose]: async () => void this.db.exec('DROP TRIGGER refused') };
  }

  async close(): Promise<void> {
    this.db.close();
  }
}
