import { and, eq, max, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { NewSignal, SignalReceipt, SignalRepository, TakenSignal } from '../../kernel/signal/signal-repository.js';
import { signalReceipts, userSignals } from '../schema/processes.js';
import { allColumns, compileWrite } from '../statements/compiled-writes.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';

const ofName = and(eq(userSignals.pid, sql.placeholder('pid')), eq(userSignals.name, sql.placeholder('name')));

const statements = prepareStatements((db: Db, raw: StatementConnection) => ({
  last: db
    .select({ ordinal: max(userSignals.ordinal) })
    .from(userSignals)
    .where(ofName)
    .prepare(),
  push: compileWrite(raw, db.insert(userSignals).values(allColumns(userSignals))),
  first: db
    .select({ ordinal: userSignals.ordinal, payload: userSignals.payload, record: userSignals.record })
    .from(userSignals)
    .where(and(ofName, eq(userSignals.taken, false)))
    .orderBy(userSignals.ordinal)
    .limit(1)
    .prepare(),
  take: compileWrite(
    raw,
    db
      .update(userSignals)
      .set({ taken: true })
      .where(and(ofName, eq(userSignals.ordinal, sql.placeholder('ordinal')))),
  ),
  findReceipt: db
    .select({ hash: signalReceipts.hash, report: signalReceipts.report })
    .from(signalReceipts)
    .where(eq(signalReceipts.id, sql.placeholder('id')))
    .prepare(),
  insertReceipt: compileWrite(raw, db.insert(signalReceipts).values(allColumns(signalReceipts))),
}));

@injectable()
export class SqlSignalRepository implements SignalRepository {
  async push(tx: WriteTx, pid: Pid, signal: NewSignal): Promise<number> {
    const ordinal = ((await statements.read(tx).last.get({ pid, name: signal.name }))?.ordinal ?? 0) + 1;
    statements.write(tx).push.run({ ...signal, pid, ordinal, taken: false });
    return ordinal;
  }

  async has(tx: ReadTx, pid: Pid, name: string): Promise<boolean> {
    return (await statements.read(tx).first.get({ pid, name })) !== undefined;
  }

  async peek(tx: ReadTx, pid: Pid, name: string): Promise<TakenSignal | undefined> {
    return statements.read(tx).first.get({ pid, name });
  }

  async take(tx: WriteTx, pid: Pid, name: string): Promise<TakenSignal | undefined> {
    const found = await statements.read(tx).first.get({ pid, name });
    if (found === undefined) return undefined;
    statements.write(tx).take.run({ pid, name, ordinal: found.ordinal });
    return found;
  }

  async findReceipt(tx: ReadTx, id: string): Promise<SignalReceipt | undefined> {
    return statements.read(tx).findReceipt.get({ id });
  }

  async insertReceipt(tx: WriteTx, id: string, receipt: SignalReceipt): Promise<void> {
    statements.write(tx).insertReceipt.run({ id, ...receipt });
  }
}
