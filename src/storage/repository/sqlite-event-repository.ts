import type Database from 'better-sqlite3';
import { desc, eq, gt, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { KernelEvent } from '../../events/event.js';
import type { EventRepository } from '../../events/event-repository.js';
import { events } from '../schema/events.js';
import { processes } from '../schema/processes.js';
import type { Db } from '../sqlite/connection.js';
import { done, prepareStatements } from '../sqlite/sqlite-tx.js';
import { compileWrite } from '../sqlite/write-statements.js';

const statements = prepareStatements((db: Db, raw: Database.Database) => ({
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
  path: db
    .select({ n: processes.n, path: processes.path })
    .from(processes)
    .where(eq(processes.pid, sql.placeholder('pid')))
    .prepare(),
}));

@injectable()
export class SqliteEventRepository implements EventRepository {
  async head(tx: ReadTx): Promise<number> {
    return statements.read(tx).head.get()?.seq ?? 0;
  }

  async newestAt(tx: ReadTx): Promise<number> {
    return statements.read(tx).head.get()?.at ?? 0;
  }

  insert(tx: WriteTx, event: KernelEvent): Promise<void> {
    const { seq, type, at, pid = null, root = null, node, data } = event;
    statements.write(tx).insert.run({ seq, type, at, pid, root, node, data });
    return done;
  }

  async page(tx: ReadTx, after: number, limit: number): Promise<KernelEvent[]> {
    return statements.read(tx).page.all({ after, limit }).map(toEvent);
  }

  async spawnPath(tx: ReadTx, pid: Pid): Promise<readonly number[]> {
    const found = statements.read(tx).path.get({ pid });
    return found === undefined ? [] : [...found.path, found.n];
  }
}

function toEvent(row: typeof events.$inferSelect): KernelEvent {
  const { pid, root, ...rest } = row;
  return { ...rest, ...(pid === null ? {} : { pid }), ...(root === null ? {} : { root }) } as KernelEvent;
}
