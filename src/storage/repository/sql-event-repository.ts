import { desc, gt, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { KernelEvent } from '../../events/event.js';
import type { EventRepository } from '../../events/event-repository.js';
import { events } from '../schema/events.js';
import { compileWrite } from '../statements/compiled-writes.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';
import { Fact } from '../working-set/facts.js';
import { processRows } from '../working-set/tables.js';

const newest = new Fact<{ readonly seq: number; readonly at: number }>('newest event');

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
    }),
  ),
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
    statements.write(tx).insert.run({ seq, type, at, pid, root, node, data });
    newest.set(tx, { seq, at });
  }

  async page(tx: ReadTx, after: number, limit: number): Promise<KernelEvent[]> {
    return (await statements.read(tx).page.all({ after, limit })).map(toEvent);
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
  const { pid, root, ...rest } = row;
  return { ...rest, ...(pid === null ? {} : { pid }), ...(root === null ? {} : { root }) } as KernelEvent;
}
