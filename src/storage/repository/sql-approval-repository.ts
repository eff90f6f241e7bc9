import { and, eq, gt, isNull, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { ApprovalId } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { ApprovalRecord } from '../../capability/approval/approval.js';
import type {
  ApprovalAnswer,
  ApprovalRepository,
  ApprovalScan,
} from '../../capability/approval/approval-repository.js';
import { approvals } from '../schema/capabilities.js';
import { allColumns, compileWrite, updateColumns } from '../statements/compiled-writes.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';

const byId = eq(approvals.id, sql.placeholder('id'));
const after = gt(approvals.id, sql.placeholder('after'));
const ofProcess = eq(approvals.pid, sql.placeholder('pid'));
const isPending = isNull(approvals.decision);

const statements = prepareStatements((db: Db, raw: StatementConnection) => {
  const page = (where: ReturnType<typeof and>) =>
    db.select().from(approvals).where(where).orderBy(approvals.id).limit(sql.placeholder('limit')).prepare();
  return {
    find: db.select().from(approvals).where(byId).prepare(),
    insert: compileWrite(raw, db.insert(approvals).values(allColumns(approvals))),
    answer: compileWrite(
      raw,
      db
        .update(approvals)
        .set(
          updateColumns(approvals, [
            'decision',
            'scope',
            'answeredBy',
            'answeredAt',
            'granted',
            'editedArgs',
            'editedHash',
          ]),
        )
        .where(byId),
    ),
    use: compileWrite(
      raw,
      db
        .update(approvals)
        .set(updateColumns(approvals, ['spentAt']))
        .where(byId),
    ),
    findOpen: db
      .select()
      .from(approvals)
      .where(and(raw.dialect.inList(approvals.n, 'numbers'), isNull(approvals.spentAt)))
      .orderBy(approvals.id)
      .prepare(),
    all: page(after),
    pending: page(and(after, isPending)),
    allOf: page(and(after, ofProcess)),
    pendingOf: page(and(after, ofProcess, isPending)),
  };
});

@injectable()
export class SqlApprovalRepository implements ApprovalRepository {
  async find(tx: ReadTx, id: ApprovalId): Promise<ApprovalRecord | undefined> {
    return statements.read(tx).find.get({ id });
  }

  async insert(tx: WriteTx, record: ApprovalRecord): Promise<void> {
    statements.write(tx).insert.run(record);
  }

  async answer(tx: WriteTx, id: ApprovalId, answer: ApprovalAnswer): Promise<void> {
    statements.write(tx).answer.run({ id, ...answer });
  }

  async use(tx: WriteTx, id: ApprovalId, at: number): Promise<void> {
    statements.write(tx).use.run({ id, spentAt: at });
  }

  async findOpen(tx: ReadTx, numbers: readonly number[]): Promise<readonly ApprovalRecord[]> {
    return statements.read(tx).findOpen.all({ numbers: JSON.stringify(numbers) });
  }

  async list(tx: ReadTx, { pid, pending, after: from, limit }: ApprovalScan): Promise<readonly ApprovalRecord[]> {
    const all = statements.read(tx);
    const rows = { after: from, limit };
    if (pid === undefined) return (pending ? all.pending : all.all).all(rows);
    return (pending ? all.pendingOf : all.allOf).all({ ...rows, pid });
  }
}
