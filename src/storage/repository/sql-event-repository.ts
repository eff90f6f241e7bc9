import { and, asc, desc, eq, gt, lt, type SQL, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { KernelEvent } from '../../events/event.js';
import type { EventRange, EventRepository, EventScan } from '../../events/event-repository.js';
import { events } from '../schema/events.js';
import { compileWrite } from '../statements/compiled-writes.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';
import { Fact } from '../working-set/facts.js';
import { processRows } from '../working-set/tables.js';

const newest = new Fact<{ readonly seq: number; readonly at: number }>('newest event');

const find = (db: Db, selected: SQL | undefined, order: typeof asc) =>
  db
    .select()
    .from(events)
    .where(and(selected, gt(events.seq, sql.placeholder('above')), lt(events.seq, sql.placeholder('below'))))
    .orderBy(order(events.seq))
    .limit(sql.placeholder('limit'))
    .prepare();

const findInOrder = (db: Db, selected: SQL | undefined) => ({
  asc: find(db, selected, asc),
  desc: find(db, selected, desc),
});

const statements = prepareStatements((db: Db, raw: StatementConnection) => ({
  head: db.select({ seq: events.seq, at: events.at }).from(events).orderBy(desc(events.seq)).limit(1).prepare(),
  insert: compileWrite(
    raw,
    db.insert(events).values({
      seq: sql.placeholder('seq'),
      type: sql.placeholder('type'),
      at: sql.placeholder('at'),
      pid: sql.placeholder('pid'),
      root: sql.placeholder('root'),
      node: sql.placeholder('node'),
      data: sql.placeholder('data'),
      bornIn: sql.placeholder('bornIn'),
    }),
  ),
  findAll: findInOrder(db, undefined),
  findTypes: findInOrder(db, raw.dialect.inList(events.type, 'types')),
  findPid: findInOrder(db, eq(events.pid, sql.placeholder('pid'))),
  findBornIn: findInOrder(db, eq(events.bornIn, sql.placeholder('root'))),
  page: db
    .select()
    .from(events)
    .where(gt(events.seq, sql.placeholder('after')))
    .orderBy(events.seq)
    .limit(sql.placeholder('limit'))
    .prepare(),
}));

@injectable()
export class SqlEventRepository implements EventRepository {
  async head(tx: ReadTx): Promise<number> {
    return (await findNewest(tx)).seq;
  }

  async newestAt(tx: ReadTx): Promise<number> {
    return (await findNewest(tx)).at;
  }

  async insert(tx: WriteTx, event: KernelEvent): Promise<void> {
    const { seq, type, at, pid = null, root = null, node, data } = event;
    const bornIn = pid === null ? null : ((await this.spawnPath(tx, pid))[0] ?? null);
    statements.write(tx).insert.run({ seq, type, at, pid, root, node, data, bornIn });
    newest.set(tx, { seq, at });
  }

  async page(tx: ReadTx, after: number, limit: number): Promise<KernelEvent[]> {
    return (await statements.read(tx).page.all({ after, limit })).map(toEvent);
  }

  async find(tx: ReadTx, scan: EventScan, { order, ...range }: EventRange): Promise<KernelEvent[]> {
    const all = statements.read(tx);
    switch (scan.by) {
      case 'all':
        return (await all.findAll[order].all(range)).map(toEvent);
      case 'types':
        return (await all.findTypes[order].all({ ...range, types: JSON.stringify(scan.types) })).map(toEvent);
      case 'pid':
        return (await all.findPid[order].all({ ...range, pid: scan.pid })).map(toEvent);
      case 'bornIn':
        return (await all.findBornIn[order].all({ ...range, root: scan.root })).map(toEvent);
    }
  }

  async spawnPath(tx: ReadTx, pid: Pid): Promise<readonly number[]> {
    const found = await processRows.get(tx, pid);
    return found === undefined ? [] : [...found.path, found.n];
  }
}

async function findNewest(tx: ReadTx): Promise<{ readonly seq: number; readonly at: number }> {
  return newest.get(tx, async () => (await statements.read(tx).head.get()) ?? { seq: 0, at: 0 });
}

function toEvent(row: typeof events.$inferSelect): KernelEvent {
  const { pid, root, bornIn: _bornIn, ...rest } = row;
  return { ...rest, ...(pid === null ? {} : { pid }), ...(root === null ? {} : { root }) } as KernelEvent;
}
