import type Database from 'better-sqlite3';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { WaitRepository } from '../../kernel/wait-repository.js';
import { everyColumn } from './bind.js';
import { compiled } from './compiled.js';
import type { Db } from './connection.js';
import { processes, reaped } from './schema/processes.js';
import { prepared } from './sqlite-tx.js';

const statements = prepared((db: Db, raw: Database.Database) => ({
  isReaped: db
    .select({ child: reaped.child })
    .from(reaped)
    .where(and(eq(reaped.parent, sql.placeholder('parent')), eq(reaped.child, sql.placeholder('child'))))
    .prepare(),
  reap: compiled(raw, db.insert(reaped).values(everyColumn(reaped)).onConflictDoNothing()),
  unreaped: db
    .select({ pid: processes.pid })
    .from(processes)
    .leftJoin(reaped, and(eq(reaped.parent, processes.parent), eq(reaped.child, processes.pid)))
    .where(and(eq(processes.parent, sql.placeholder('parent')), isNull(reaped.child)))
    .orderBy(processes.n)
    .prepare(),
}));

@injectable()
export class SqliteWaitRepository implements WaitRepository {
  async isReaped(tx: ReadTx, parent: Pid, child: Pid): Promise<boolean> {
    return statements.read(tx).isReaped.get({ parent, child }) !== undefined;
  }

  async reap(tx: WriteTx, parent: Pid, child: Pid): Promise<void> {
    statements.write(tx).reap.run({ parent, child });
  }

  async unreaped(tx: ReadTx, parent: Pid): Promise<Pid[]> {
    return statements
      .read(tx)
      .unreaped.all({ parent })
      .map((row) => row.pid);
  }
}
