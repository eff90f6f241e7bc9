import { and, eq, gt, max, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { ProcessLogRepository, ProcessLogRow } from '../../kernel/process/process-log-repository.js';
import { processLogs } from '../schema/execution.js';
import { allColumns, compileWrite } from '../statements/compiled-writes.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';

const ofProcess = eq(processLogs.process, sql.placeholder('process'));
const isLine = and(ofProcess, eq(processLogs.seq, sql.placeholder('seq')));

const statements = prepareStatements((db: Db, raw: StatementConnection) => ({
  last: db
    .select({ seq: max(processLogs.seq) })
    .from(processLogs)
    .where(ofProcess)
    .prepare(),
  find: db.select().from(processLogs).where(isLine).prepare(),
  page: db
    .select()
    .from(processLogs)
    .where(and(ofProcess, gt(processLogs.seq, sql.placeholder('seq'))))
    .orderBy(processLogs.seq)
    .limit(sql.placeholder('limit'))
    .prepare(),
  insert: compileWrite(raw, db.insert(processLogs).values(allColumns(processLogs))),
  remove: compileWrite(raw, db.delete(processLogs).where(isLine)),
}));

@injectable()
export class SqlProcessLogRepository implements ProcessLogRepository {
  async lastSeq(tx: ReadTx, process: number): Promise<number> {
    return (await statements.read(tx).last.get({ process }))?.seq ?? 0;
  }

  async find(tx: ReadTx, process: number, seq: number): Promise<ProcessLogRow | undefined> {
    return statements.read(tx).find.get({ process, seq });
  }

  async page(tx: ReadTx, process: number, seq: number, limit: number): Promise<ProcessLogRow[]> {
    return statements.read(tx).page.all({ process, seq, limit });
  }

  async insert(tx: WriteTx, row: ProcessLogRow): Promise<void> {
    statements.write(tx).insert.run(row);
  }

  async remove(tx: WriteTx, process: number, seq: number): Promise<void> {
    statements.write(tx).remove.run({ process, seq });
  }
}
