import { eq, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { RunEntry, RunEntryRepository } from '../../kernel/process/run-entry-repository.js';
import { runEntries } from '../schema/execution.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db } from '../statements/statement-connection.js';
import { runEntryRows } from '../working-set/tables.js';

const statements = prepareStatements((db: Db) => ({
  all: db
    .select()
    .from(runEntries)
    .where(eq(runEntries.process, sql.placeholder('process')))
    .prepare(),
}));

@injectable()
export class SqlRunEntryRepository implements RunEntryRepository {
  async findAll(tx: ReadTx, process: number): Promise<RunEntry[]> {
    const entries =
      (await runEntryRows.list(tx, 'ofProcess', process)) ?? (await statements.read(tx).all.all({ process }));
    return entries.sort((a, b) => a.seq - b.seq) as RunEntry[];
  }

  async load(tx: WriteTx, processes: readonly number[]): Promise<void> {
    await runEntryRows.loadLists(tx, 'ofProcess', processes);
  }

  async put(tx: WriteTx, entry: RunEntry): Promise<void> {
    await runEntryRows.put(tx, entry);
  }

  async remove(tx: WriteTx, process: number, key: string): Promise<void> {
    await runEntryRows.remove(tx, process, key);
  }

  async clear(tx: WriteTx, process: number): Promise<void> {
    for (const { key } of await this.findAll(tx, process)) await runEntryRows.remove(tx, process, key);
  }
}
