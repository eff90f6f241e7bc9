import { and, eq, gt, isNull, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { QuestionId } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { QuestionRecord } from '../../kernel/question/question.js';
import type { QuestionRepository, QuestionScan, StoredAnswer } from '../../kernel/question/question-repository.js';
import { questions } from '../schema/questions.js';
import { allColumns, compileWrite, updateColumns } from '../statements/compiled-writes.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';

const byId = eq(questions.id, sql.placeholder('id'));
const after = gt(questions.id, sql.placeholder('after'));
const askedBy = eq(questions.pid, sql.placeholder('pid'));
const isOpen = and(isNull(questions.answeredAt), isNull(questions.closedAt));

const statements = prepareStatements((db: Db, raw: StatementConnection) => {
  const page = (where: ReturnType<typeof and>) =>
    db.select().from(questions).where(where).orderBy(questions.id).limit(sql.placeholder('limit')).prepare();
  return {
    find: db.select().from(questions).where(byId).prepare(),
    ofProcess: db
      .select()
      .from(questions)
      .where(eq(questions.process, sql.placeholder('process')))
      .orderBy(questions.id)
      .prepare(),
    insert: compileWrite(raw, db.insert(questions).values(allColumns(questions))),
    answer: compileWrite(
      raw,
      db
        .update(questions)
        .set(updateColumns(questions, ['answer', 'answeredBy', 'answeredAt']))
        .where(byId),
    ),
    close: compileWrite(
      raw,
      db
        .update(questions)
        .set(updateColumns(questions, ['closedAt']))
        .where(byId),
    ),
    all: page(after),
    open: page(and(after, isOpen)),
    allOf: page(and(after, askedBy)),
    openOf: page(and(after, askedBy, isOpen)),
  };
});

@injectable()
export class SqlQuestionRepository implements QuestionRepository {
  async find(tx: ReadTx, id: QuestionId): Promise<QuestionRecord | undefined> {
    return statements.read(tx).find.get({ id });
  }

  async insert(tx: WriteTx, record: QuestionRecord): Promise<void> {
    statements.write(tx).insert.run(record);
  }

  async answer(tx: WriteTx, id: QuestionId, answer: StoredAnswer): Promise<void> {
    statements.write(tx).answer.run({ id, ...answer });
  }

  async close(tx: WriteTx, id: QuestionId, at: number): Promise<void> {
    statements.write(tx).close.run({ id, closedAt: at });
  }

  async ofProcess(tx: ReadTx, process: number): Promise<readonly QuestionRecord[]> {
    return statements.read(tx).ofProcess.all({ process });
  }

  async list(tx: ReadTx, { pid, open, after: from, limit }: QuestionScan): Promise<readonly QuestionRecord[]> {
    const all = statements.read(tx);
    const rows = { after: from, limit };
    if (pid === undefined) return (open ? all.open : all.all).all(rows);
    return (open ? all.openOf : all.allOf).all({ ...rows, pid });
  }
}
