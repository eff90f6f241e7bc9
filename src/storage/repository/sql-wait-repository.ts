import { and, eq, isNull, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { ProcessRow } from '../../kernel/process/process.js';
import type { WaitRepository } from '../../kernel/waiting/wait-repository.js';
import { processes, reaped } from '../schema/processes.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db } from '../statements/statement-connection.js';
import { reapedRows } from '../working-set/tables.js';

const statements = prepareStatements((db: Db) => ({
  unreaped: db
    .select({ pid: processes.pid })
    .from(processes)
    .leftJoin(reaped, eq(reaped.n, processes.n))
    .where(and(eq(processes.parent, sql.placeholder('parent')), isNull(reaped.n)))
    .orderBy(processes.n)
    .prepare(),
}));

@injectable()
export class SqlWaitRepository implements WaitRepository {
  async isReaped(tx: ReadTx, { n }: ProcessRow): Promise<boolean> {
    return (await reapedRows.get(tx, n)) !== undefined;
  }

  async reap(tx: WriteTx, { n }: ProcessRow): Promise<void> {
    await reapedRows.put(tx, { n });
  }

  async findUnreaped(tx: ReadTx, parent: Pid): Promise<Pid[]> {
    return (await statements.read(tx).unreaped.all({ parent })).map((row) => row.pid);
  }
}
