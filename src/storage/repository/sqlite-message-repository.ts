import type Database from 'better-sqlite3';
import { and, count, eq, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { MessageRepository, StoredMessage } from '../../kernel/message/message-repository.js';
import { messages } from '../schema/execution.js';
import type { Db } from '../sqlite/connection.js';
import { prepareStatements } from '../sqlite/sqlite-tx.js';
import { compileWrite, insertColumns } from '../sqlite/write-statements.js';

const isReceiver = eq(messages.to, sql.placeholder('to'));
const isMessage = eq(messages.n, sql.placeholder('n'));

const statements = prepareStatements((db: Db, raw: Database.Database) => ({
  insert: compileWrite(raw, db.insert(messages).values(insertColumns(messages))),
  count: db.select({ count: count() }).from(messages).where(isReceiver).prepare(),
  countFrom: db
    .select({ count: count() })
    .from(messages)
    .where(and(isReceiver, eq(messages.from, sql.placeholder('from')), eq(messages.kind, 'message')))
    .prepare(),
  next: db.select({ n: messages.n }).from(messages).where(isReceiver).orderBy(messages.n).limit(1).prepare(),
  nextFrom: db
    .select({ n: messages.n })
    .from(messages)
    .where(and(isReceiver, eq(messages.from, sql.placeholder('from'))))
    .orderBy(messages.n)
    .limit(1)
    .prepare(),
  find: db.select().from(messages).where(isMessage).prepare(),
  delete: compileWrite(raw, db.delete(messages).where(isMessage)),
  clear: compileWrite(raw, db.delete(messages).where(isReceiver)),
}));

@injectable()
export class SqliteMessageRepository implements MessageRepository {
  async insert(tx: WriteTx, to: Pid, message: StoredMessage): Promise<void> {
    statements.write(tx).insert.run({ ...message, to });
  }

  async count(tx: ReadTx, to: Pid): Promise<number> {
    return statements.read(tx).count.get({ to })?.count ?? 0;
  }

  async countFrom(tx: ReadTx, to: Pid, from: Pid): Promise<number> {
    return statements.read(tx).countFrom.get({ to, from })?.count ?? 0;
  }

  async has(tx: ReadTx, to: Pid, from?: Pid): Promise<boolean> {
    return findOldest(tx, to, from) !== undefined;
  }

  async peek(tx: ReadTx, to: Pid, from?: Pid): Promise<StoredMessage | undefined> {
    const n = findOldest(tx, to, from);
    const found = n === undefined ? undefined : statements.read(tx).find.get({ n });
    if (found === undefined) return undefined;
    const { n: _n, to: _to, ...message } = found;
    return message;
  }

  async take(tx: WriteTx, to: Pid, from?: Pid): Promise<StoredMessage | undefined> {
    const n = findOldest(tx, to, from);
    const found = n === undefined ? undefined : statements.read(tx).find.get({ n });
    if (found === undefined) return undefined;
    const { n: _n, to: _to, ...message } = found;
    statements.write(tx).delete.run({ n });
    return message;
  }

  async clear(tx: WriteTx, to: Pid): Promise<void> {
    statements.write(tx).clear.run({ to });
  }
}

/** The row number of the next message, without its body. */
function findOldest(tx: ReadTx, to: Pid, from: Pid | undefined): number | undefined {
  const { next, nextFrom } = statements.read(tx);
  return (from === undefined ? next.get({ to }) : nextFrom.get({ to, from }))?.n;
}
