import { and, asc, count, eq, ne, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { MessageRepository, StoredMessage } from '../../kernel/message/message-repository.js';
import { messages } from '../schema/execution.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db } from '../statements/statement-connection.js';
import { takeNumber } from '../working-set/row-numbers.js';
import { messageRows } from '../working-set/tables.js';

const isReceiver = eq(messages.to, sql.placeholder('to'));
const isSender = eq(messages.from, sql.placeholder('from'));

const isSent = eq(messages.kind, 'message');

const statements = prepareStatements((db: Db) => ({
  countOfProcesses: db
    .select({ count: count() })
    .from(messages)
    .where(and(isReceiver, isSent, ne(messages.from, 'host')))
    .prepare(),
  countFrom: db
    .select({ count: count() })
    .from(messages)
    .where(and(isReceiver, isSender, isSent))
    .prepare(),
  next: db.select({ n: messages.n }).from(messages).where(isReceiver).orderBy(messages.n).limit(1).prepare(),
  nextFrom: db
    .select({ n: messages.n })
    .from(messages)
    .where(and(isReceiver, isSender))
    .orderBy(messages.n)
    .limit(1)
    .prepare(),
  ids: db.select({ id: messages.id }).from(messages).where(isReceiver).prepare(),
  numbers: db.select({ n: messages.n }).from(messages).where(isReceiver).orderBy(asc(messages.n)).prepare(),
}));

@injectable()
export class SqlMessageRepository implements MessageRepository {
  async insert(tx: WriteTx, to: Pid, message: StoredMessage): Promise<void> {
    messageRows.insert(tx, { ...message, to, n: await takeNumber(tx, 'messages') });
  }

  async countOfProcesses(tx: ReadTx, to: Pid): Promise<number> {
    const waiting = await messageRows.list(tx, 'ofReceiver', to);
    if (waiting === undefined) return (await statements.read(tx).countOfProcesses.get({ to }))?.count ?? 0;
    return waiting.filter(({ from, kind }) => from !== 'host' && kind === 'message').length;
  }

  async countFrom(tx: ReadTx, to: Pid, from: Pid | 'host'): Promise<number> {
    const waiting = await messageRows.list(tx, 'ofReceiver', to);
    if (waiting === undefined) return (await statements.read(tx).countFrom.get({ to, from }))?.count ?? 0;
    return waiting.filter((message) => message.from === from && message.kind === 'message').length;
  }

  async waitingIds(tx: ReadTx, to: Pid): Promise<string[]> {
    const waiting = (await messageRows.list(tx, 'ofReceiver', to)) ?? (await statements.read(tx).ids.all({ to }));
    return waiting.map(({ id }) => id);
  }

  async has(tx: ReadTx, to: Pid, from?: Pid): Promise<boolean> {
    return (await findOldest(tx, to, from)) !== undefined;
  }

  async peek(tx: ReadTx, to: Pid, from?: Pid): Promise<StoredMessage | undefined> {
    const number = await findOldest(tx, to, from);
    const found = number === undefined ? undefined : await messageRows.get(tx, number);
    if (found === undefined) return undefined;
    const { n: _n, to: _to, ...message } = found;
    return message;
  }

  async take(tx: WriteTx, to: Pid, from?: Pid): Promise<StoredMessage | undefined> {
    const number = await findOldest(tx, to, from);
    if (number === undefined) return undefined;
    const message = await this.peek(tx, to, from);
    await messageRows.remove(tx, number);
    return message;
  }

  async clear(tx: WriteTx, to: Pid): Promise<void> {
    const waiting = (await messageRows.list(tx, 'ofReceiver', to)) ?? (await statements.read(tx).numbers.all({ to }));
    for (const { n } of waiting) await messageRows.remove(tx, n);
  }

  async loadInboxes(tx: WriteTx, receivers: readonly Pid[]): Promise<void> {
    await messageRows.loadLists(tx, 'ofReceiver', receivers);
  }
}

/** The row number of the next message. */
async function findOldest(tx: ReadTx, to: Pid, from: Pid | undefined): Promise<number | undefined> {
  const waiting = await messageRows.list(tx, 'ofReceiver', to);
  if (waiting === undefined) {
    const { next, nextFrom } = statements.read(tx);
    return (await (from === undefined ? next.get({ to }) : nextFrom.get({ to, from })))?.n;
  }
  const numbers = waiting.filter((message) => from === undefined || message.from === from).map(({ n }) => n);
  return numbers.length === 0 ? undefined : Math.min(...numbers);
}
