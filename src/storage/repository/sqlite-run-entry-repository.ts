import { eq, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { RunEntry, RunEntryRepository } from '../../kernel/process/run-entry-repository.js';
import { runEntries } from '../schema/execution.js';
import type { Db } from '../sqlite/connection.js';
import { prepareStatements } from '../sqlite/sqlite-tx.js';
import { runEntryRows } from '../working-set/tables.js';

const statements = prepareStatements((db: Db) => ({
  all: db
    .select()
    .from(runEntries)
    .where(eq(runEntries.process, sql.placeholder('process')))
    .prepare(),
}));

@injectable()
export class SqliteRunEntryRepository implements RunEntryRepository {
  async findAll(tx: ReadTx, process: number): Promise<RunEntry[]> {
    const entries = runEntryRows.list(tx, 'ofProcess', process) ?? statements.read(tx).all.all({ process });
    return entries.sort((a, b) => a.seq - b.seq) as RunEntry[];
  }

  async put(tx: WriteTx, entry: RunEntry): Promise<void> {
    runEntryRows.put(tx, entry);
  }

  async remove(tx: WriteTx, process: number, key: string): Promise<void> {
    runEntryRows.remove(tx, process, key);
  }

  async clear(tx: WriteTx, process: number): Promise<void> {
    for (const { key } of await this.findAll(tx, process)) runEntryRows.remove(tx, process, key);
  }
}
