import type Database from 'better-sqlite3';
import { and, eq, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { RunEntry, RunEntryRepository } from '../../kernel/process/run-entry-repository.js';
import { runEntries } from '../schema/execution.js';
import type { Db } from '../sqlite/connection.js';
import { prepareStatements } from '../sqlite/sqlite-tx.js';
import { allColumns, compileWrite, updateColumns } from '../sqlite/write-statements.js';

const ofProcess = eq(runEntries.process, sql.placeholder('process'));

const statements = prepareStatements((db: Db, raw: Database.Database) => ({
  all: db.select().from(runEntries).where(ofProcess).orderBy(runEntries.seq).prepare(),
  put: compileWrite(
    raw,
    db
      .insert(runEntries)
      .values(allColumns(runEntries))
      .onConflictDoUpdate({
        target: [runEntries.process, runEntries.key],
        set: updateColumns(runEntries, ['seq', 'status', 'value', 'attempt', 'dueAt', 'fence', 'at']),
      }),
  ),
  remove: compileWrite(raw, db.delete(runEntries).where(and(ofProcess, eq(runEntries.key, sql.placeholder('key'))))),
  clear: compileWrite(raw, db.delete(runEntries).where(ofProcess)),
}));

@injectable()
export class SqliteRunEntryRepository implements RunEntryRepository {
  async findAll(tx: ReadTx, process: number): Promise<RunEntry[]> {
    return statements.read(tx).all.all({ process }) as RunEntry[];
  }

  async put(tx: WriteTx, entry: RunEntry): Promise<void> {
    statements.write(tx).put.run(entry);
  }

  async remove(tx: WriteTx, process: number, key: string): Promise<void> {
    statements.write(tx).remove.run({ process, key });
  }

  async clear(tx: WriteTx, process: number): Promise<void> {
    statements.write(tx).clear.run({ process });
  }
}
