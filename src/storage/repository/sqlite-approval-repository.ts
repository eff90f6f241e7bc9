import type Database from 'better-sqlite3';
import { and, eq, gt, inArray, isNull, sql } from 'drizzle-orm';
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
import type { Db } from '../sqlite/connection.js';
import { done, prepareStatements } from '../sqlite/sqlite-tx.js';
import { allColumns, compileWrite, updateColumns } from '../sqlite/write-statements.js';

const byId = eq(approvals.id, sql.placeholder('id'));
const after = gt(approvals.id, sql.placeholder('after'));
const ofProcess = eq(approvals.pid, sql.placeholder('pid'));
const isPending = isNull(approvals.decision);

const statements = prepareStatements((db: Db, raw: Database.Database) => {
  const page = (where: ReturnType<typeof and>) =>
    db.select().from(approvals).where(where).orderBy(approvals.id).limit(sql.placeholder('limit')).prepare();
  return {
    find: db.select().from(approvals).where(byId).prepare(),
    insert: compileWrite(raw, db.insert(approvals).values(allColumns(approvals))),
    answer: compileWrite(
      raw,
      db
        .update(approvals)
        .set(updateColumns(approvals, ['decision', 'scope', 'answeredBy', 'answeredAt', 'granted']))
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
      .where(
        and(
          inArray(approvals.n, sql`(SELECT value FROM json_each(${sql.placeholder('numbers')}))`),
          isNull(approvals.spentAt),
        ),
      )
      .orderBy(approvals.id)
      .prepare(),
    all: page(after),
    pending: page(and(after, isPending)),
    allOf: page(and(after, ofProcess)),
    pendingOf: page(and(after, ofProcess, isPending)),
  };
});

@injectable()
export class SqliteApprovalRepository implements ApprovalRepository {
  async find(tx: ReadTx, id: ApprovalId): Promise<ApprovalRecord | undefined> {
    return statements.read(tx).find.get({ id });
  }

  insert(tx: WriteTx, record: ApprovalRecord): Promise<void> {
    statements.write(tx).insert.run(record);
    return done;
  }

  answer(tx: WriteTx, id: ApprovalId, answer: ApprovalAnswer): Promise<void> {
    statements.write(tx).answer.run({ id, ...answer });
    return done;
  }

  use(tx: WriteTx, id: ApprovalId, at: number): Promise<void> {
    statements.write(tx).use.run({ id, spentAt: at });
    return done;
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
