import type Database from 'better-sqlite3';
import { eq, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { CommandRepository, CommandRow } from '../../kernel/command/command-repository.js';
import { commands } from '../schema/effects.js';
import type { Db } from '../sqlite/connection.js';
import { prepareStatements } from '../sqlite/sqlite-tx.js';
import { allColumns, compileWrite, updateColumns } from './write-statements.js';

const ofProcess = eq(commands.process, sql.placeholder('process'));

const statements = prepareStatements((db: Db, raw: Database.Database) => ({
  insert: compileWrite(raw, db.insert(commands).values(allColumns(commands))),
  find: db.select().from(commands).where(ofProcess).prepare(),
  update: compileWrite(
    raw,
    db
      .update(commands)
      .set(updateColumns(commands, ['leader', 'outputBytes']))
      .where(ofProcess),
  ),
  remove: compileWrite(raw, db.delete(commands).where(ofProcess)),
}));

@injectable()
export class SqliteCommandRepository implements CommandRepository {
  async put(tx: WriteTx, command: CommandRow): Promise<void> {
    await this.remove(tx, command.process);
    statements.write(tx).insert.run(command);
  }

  async find(tx: ReadTx, process: number): Promise<CommandRow | undefined> {
    return statements.read(tx).find.get({ process });
  }

  async update(tx: WriteTx, { process, leader, outputBytes }: CommandRow): Promise<void> {
    statements.write(tx).update.run({ process, leader, outputBytes });
  }

  async remove(tx: WriteTx, process: number): Promise<void> {
    statements.write(tx).remove.run({ process });
  }
}
