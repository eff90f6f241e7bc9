import { and, eq, gt, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { Environment } from '../../kernel/command/command.js';
import type {
  EnvironmentUse,
  Registration,
  SpawnExtrasRepository,
} from '../../kernel/lifecycle/spawn-extras-repository.js';
import type { ProcessRow } from '../../kernel/process/process.js';
import { environments, processes, processTags, registrations } from '../schema/processes.js';
import { allColumns, compileWrite } from '../statements/compiled-writes.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';

const statements = prepareStatements((db: Db, raw: StatementConnection) => ({
  findRegistration: db
    .select({ pid: registrations.pid, hash: registrations.hash, members: registrations.members })
    .from(registrations)
    .where(and(eq(registrations.parent, sql.placeholder('parent')), eq(registrations.id, sql.placeholder('id'))))
    .prepare(),
  insertRegistration: compileWrite(raw, db.insert(registrations).values(allColumns(registrations))),
  removeRegistration: compileWrite(
    raw,
    db
      .delete(registrations)
      .where(and(eq(registrations.parent, sql.placeholder('parent')), eq(registrations.id, sql.placeholder('id')))),
  ),
  insertTag: compileWrite(raw, db.insert(processTags).values(allColumns(processTags))),
  insertEnvironment: compileWrite(raw, db.insert(environments).values(allColumns(environments)).onConflictDoNothing()),
  removeEnvironment: compileWrite(raw, db.delete(environments).where(eq(environments.hash, sql.placeholder('hash')))),
  pageEnvironmentUses: db
    .select({ n: processes.n, env: processes.env })
    .from(processes)
    .where(gt(processes.n, sql.placeholder('after')))
    .orderBy(processes.n)
    .limit(sql.placeholder('limit'))
    .prepare(),
  findEnvironment: db
    .select({ variables: environments.variables })
    .from(environments)
    .where(eq(environments.hash, sql.placeholder('hash')))
    .prepare(),
}));

@injectable()
export class SqlSpawnExtrasRepository implements SpawnExtrasRepository {
  async findRegistration(tx: ReadTx, parent: Pid | null, id: string): Promise<Registration | undefined> {
    return statements.read(tx).findRegistration.get({ parent: parent ?? '', id });
  }

  async insertRegistration(tx: WriteTx, parent: Pid | null, id: string, registration: Registration): Promise<void> {
    statements.write(tx).insertRegistration.run({ parent: parent ?? '', id, ...registration });
  }

  async removeRegistration(tx: WriteTx, parent: Pid | null, id: string): Promise<void> {
    statements.write(tx).removeRegistration.run({ parent: parent ?? '', id });
  }

  async insertTags(tx: WriteTx, n: number, { labels, owner }: Pick<ProcessRow, 'labels' | 'owner'>): Promise<void> {
    for (const [space, tags] of [['label', labels] as const, ['owner', owner] as const]) {
      for (const [key, value] of Object.entries(tags ?? {}))
        statements.write(tx).insertTag.run({ space, key, value, n });
    }
  }

  async insertEnvironment(tx: WriteTx, hash: string, variables: Environment): Promise<void> {
    statements.write(tx).insertEnvironment.run({ hash, variables });
  }

  async pageEnvironmentUses(tx: ReadTx, after: number, limit: number): Promise<readonly EnvironmentUse[]> {
    return statements.read(tx).pageEnvironmentUses.all({ after, limit });
  }

  async removeEnvironment(tx: WriteTx, hash: string): Promise<void> {
    statements.write(tx).removeEnvironment.run({ hash });
  }

  async findEnvironment(tx: ReadTx, hash: string): Promise<Environment | undefined> {
    return (await statements.read(tx).findEnvironment.get({ hash }))?.variables;
  }
}
