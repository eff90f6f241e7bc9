import { and, eq, isNotNull, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { CommandRepository, CommandRow, HeldCommand } from '../../kernel/command/command-repository.js';
import { commands } from '../schema/effects.js';
import { processes } from '../schema/processes.js';
import { allColumns, compileWrite, updateColumns } from '../statements/compiled-writes.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';

const ofProcess = eq(commands.process, sql.placeholder('process'));

const statements = prepareStatements((db: Db, raw: StatementConnection) => ({
  insert: compileWrite(raw, db.insert(commands).values(allColumns(commands))),
  findHeld: db
    .select({ pid: processes.pid, node: processes.node, command: commands })
    .from(processes)
    .innerJoin(commands, eq(commands.process, processes.n))
    .where(and(isNotNull(processes.node), eq(processes.kind, 'command')))
    .orderBy(processes.n)
    .prepare(),
  find: db.select().from(commands).where(ofProcess).prepare(),
  findAll: db.select().from(commands).where(raw.dialect.inList(commands.process, 'processes')).prepare(),
  update: compileWrite(
    raw,
    db
      .update(commands)
      .set(updateColumns(commands, ['leader', 'outputBytes']))
      .where(ofProcess),
  ),
  setIntent: compileWrite(
    raw,
    db
      .update(commands)
      .set(updateColumns(commands, ['intent']))
      .where(ofProcess),
  ),
  remove: compileWrite(raw, db.delete(commands).where(ofProcess)),
}));

@injectable()
export class SqlCommandRepository implements CommandRepository {
  async put(tx: WriteTx, command: CommandRow): Promise<void> {
    await this.remove(tx, command.process);
    statements.write(tx).insert.run(command);
  }

  async find(tx: ReadTx, process: number): Promise<CommandRow | undefined> {
    return statements.read(tx).find.get({ process });
  }

  async findAll(tx: ReadTx, processes: readonly number[]): Promise<CommandRow[]> {
    return statements.read(tx).findAll.all({ processes: JSON.stringify(processes) });
  }

  async findHeld(tx: ReadTx): Promise<HeldCommand[]> {
    const rows = await statements.read(tx).findHeld.all();
    return rows.flatMap(({ pid, node, command }) => (node === null ? [] : [{ pid, node, command }]));
  }

  async update(tx: WriteTx, { process, leader, outputBytes }: CommandRow): Promise<void> {
    statements.write(tx).update.run({ process, leader, outputBytes });
  }

  async setIntent(tx: WriteTx, process: number, intent: string): Promise<void> {
    statements.write(tx).setIntent.run({ process, intent });
  }

  async remove(tx: WriteTx, process: number): Promise<void> {
    statements.write(tx).remove.run({ process });
  }
}
