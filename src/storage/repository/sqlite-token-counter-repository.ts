import type Database from 'better-sqlite3';
import { eq } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { TokenCounterRepository } from '../../memory/tokens/token-counter-repository.js';
import { settings } from '../schema/settings.js';
import type { Db } from '../sqlite/connection.js';
import { prepareStatements } from '../sqlite/sqlite-tx.js';
import { allColumns, compileWrite } from '../sqlite/write-statements.js';

const name = 'token_counter';

const statements = prepareStatements((db: Db, raw: Database.Database) => ({
  find: db.select().from(settings).where(eq(settings.name, name)).prepare(),
  insert: compileWrite(raw, db.insert(settings).values(allColumns(settings))),
}));

@injectable()
export class SqliteTokenCounterRepository implements TokenCounterRepository {
  async find(tx: ReadTx): Promise<string | undefined> {
    return statements.read(tx).find.get()?.value;
  }

  async insert(tx: WriteTx, value: string): Promise<void> {
    statements.write(tx).insert.run({ name, value });
  }
}
