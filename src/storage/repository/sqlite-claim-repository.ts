import { and, count, eq, gte, inArray, isNotNull, isNull, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { NodeId, Pid } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import type { Claimable, ClaimRepository, RunnableCount } from '../../kernel/process/claim-repository.js';
import { defaultQueue } from '../../kernel/process/process.js';
import { processes } from '../schema/processes.js';
import type { Db } from '../sqlite/connection.js';
import { prepareStatements } from '../sqlite/sqlite-tx.js';

const limit = sql.placeholder('limit');
const queueOfRow = sql<string>`coalesce(${processes.queue}, ${sql.raw(`'${defaultQueue}'`)})`;
const isClaimable = and(
  isNull(processes.exitedAt),
  inArray(processes.image, sql`(SELECT value FROM json_each(${sql.placeholder('images')}))`),
  inArray(queueOfRow, sql`(SELECT value FROM json_each(${sql.placeholder('queues')}))`),
);

const statements = prepareStatements((db: Db) => ({
  findRunnable: db
    .select({ pid: processes.pid })
    .from(processes)
    .where(and(eq(processes.status, 'runnable'), isClaimable))
    .orderBy(processes.n)
    .limit(limit)
    .prepare(),
  countRunnable: db
    .select({
      image: processes.image,
      queue: queueOfRow,
      processes: count(),
      first: sql<number>`min(${processes.n})`,
    })
    .from(processes)
    .where(and(eq(processes.status, 'runnable'), isNull(processes.exitedAt)))
    .groupBy(processes.image, queueOfRow)
    .limit(limit)
    .prepare(),
  findParked: db
    .select({ pid: processes.pid })
    .from(processes)
    .where(
      and(
        eq(processes.status, 'waiting'),
        isNull(processes.exitedAt),
        isNull(processes.node),
        isNotNull(processes.failedBuilds),
        isClaimable,
      ),
    )
    .orderBy(processes.n)
    .limit(limit)
    .prepare(),
  findSuspect: db
    .select({ pid: processes.pid })
    .from(processes)
    .where(
      and(
        eq(processes.node, sql.placeholder('node')),
        isNotNull(processes.node),
        eq(processes.status, 'running'),
        gte(processes.recoveries, sql.placeholder('recoveries')),
      ),
    )
    .limit(1)
    .prepare(),
  findUnstarted: db
    .select({ pid: processes.pid })
    .from(processes)
    .where(and(inArray(processes.status, ['created', 'runnable']), isNull(processes.node), isClaimable))
    .orderBy(processes.n)
    .limit(limit)
    .prepare(),
}));

@injectable()
export class SqliteClaimRepository implements ClaimRepository {
  async findRunnable(tx: ReadTx, claimable: Claimable, rows: number): Promise<Pid[]> {
    const found = statements.read(tx).findRunnable.all({ ...toLists(claimable), limit: rows });
    return found.map(({ pid }) => pid);
  }

  async countRunnable(tx: ReadTx, groups: number): Promise<RunnableCount[]> {
    return statements.read(tx).countRunnable.all({ limit: groups });
  }

  async findParked(tx: ReadTx, claimable: Claimable, rows: number): Promise<Pid[]> {
    const found = statements.read(tx).findParked.all({ ...toLists(claimable), limit: rows });
    return found.map(({ pid }) => pid);
  }

  async findSuspect(tx: ReadTx, node: NodeId, recoveries: number): Promise<Pid | undefined> {
    return statements.read(tx).findSuspect.get({ node, recoveries })?.pid;
  }

  async findUnstarted(tx: ReadTx, claimable: Claimable, rows: number): Promise<Pid[]> {
    const found = statements.read(tx).findUnstarted.all({ ...toLists(claimable), limit: rows });
    return found.map(({ pid }) => pid);
  }
}

function toLists({ images, queues }: Claimable): { images: string; queues: string } {
  return { images: JSON.stringify(images), queues: JSON.stringify(queues) };
}
