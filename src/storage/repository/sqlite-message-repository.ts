import type Database from 'better-sqlite3';
import { and, count, eq, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { MessageRepository, StoredMessage } from '../../kernel/message/message-repository.js';
import { messages } from '../schema/execution.js';
import type { Db } from '../sqlite/connection.js';
import { prepared } from '../sqlite/sqlite-tx.js';
import { everyColumnButNumber } from './bind.js';
import { compiled } from './compiled.js';

const toIt = eq(messages.to, sql.placeholder('to'));
const itself = eq(messages.n, sql.placeholder('n'));

const statements = prepared((db: Db, raw: Database.Database) => ({
  insert: compiled(raw, db.insert(messages).values(everyColumnButNumber(messages))),
  count: db.select({ count: count() }).from(messages).where(toIt).prepare(),
  next: db.select({ n: messages.n }).from(messages).where(toIt).orderBy(messages.n).limit(1).prepare(),
  nextFrom: db
    .select({ n: messages.n })
    .from(messages)
    .where(and(toIt, eq(messages.from, sql.placeholder('from'))))
    .orderBy(messages.n)
    .limit(1)
    .prepare(),
  find: db.select().from(messages).where(itself).prepare(),
  delete: compiled(raw, db.delete(messages).where(itself)),
  clear: compiled(raw, db.delete(messages).where(toIt)),
}));

@injectable()
export class SqliteMessageRepository implements MessageRepository {
  async insert(tx: WriteTx, to: Pid, message: StoredMessage): Promise<void> {
    statements.write(tx).insert.run({ ...message, to });
  }

  async count(tx: ReadTx, to: Pid): Promise<number> {
    return statements.read(tx).count.get({ to })?.count ?? 0;
  }

  async has(tx: ReadTx, to: Pid, from?: Pid): Promise<boolean> {
    return oldest(tx, to, from) !== undefined;
  }

  async take(tx: WriteTx, to: Pid, from?: Pid): Promise<StoredMessage | undefined> {
    const n = oldest(tx, to, from);
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

/** The number of the message that is next, without reading it. */
function oldest(tx: ReadTx, to: Pid, from: Pid | undefined): number | undefined {
  const { next, nextFrom } = statements.read(tx);
  return (from === undefined ? next.get({ to }) : nextFrom.get({ to, from }))?.n;
}
