import { and, count, eq, gt, gte, inArray, isNotNull, isNull, lt, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { NodeId, Pid } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import type { Claimable, ClaimRepository, RunnableCount, RunnablePage } from '../../kernel/process/claim-repository.js';
import { defaultQueue } from '../../kernel/process/process.js';
import { processes } from '../schema/processes.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';

const limit = sql.placeholder('limit');
const queueOfRow = sql<string>`coalesce(${processes.queue}, ${sql.raw(`'${defaultQueue}'`)})`;
const isClaimable = ({ dialect }: StatementConnection) =>
  and(isNull(processes.exitedAt), dialect.inList(processes.image, 'images'), dialect.inList(queueOfRow, 'queues'));

const statements = prepareStatements((db: Db, raw: StatementConnection) => ({
  findRunnable: db
    .select({ pid: processes.pid })
    .from(processes)
    .where(
      and(
        eq(processes.status, 'runnable'),
        isClaimable(raw),
        gt(processes.n, sql.placeholder('after')),
        lt(processes.recoveries, sql.placeholder('recoveriesBelow')),
      ),
    )
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
        isClaimable(raw),
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
    .where(and(inArray(processes.status, ['created', 'runnable']), isNull(processes.node), isClaimable(raw)))
    .orderBy(processes.n)
    .limit(limit)
    .prepare(),
}));

@injectable()
export class SqlClaimRepository implements ClaimRepository {
  async findRunnable(tx: ReadTx, claimable: Claimable, page: RunnablePage): Promise<Pid[]> {
    const { after = 0, recoveriesBelow = Number.MAX_SAFE_INTEGER } = page;
    const part = { limit: page.limit, after, recoveriesBelow };
    const found = await statements.read(tx).findRunnable.all({ ...toLists(claimable), ...part });
    return found.map(({ pid }) => pid);
  }

  async countRunnable(tx: ReadTx, groups: number): Promise<RunnableCount[]> {
    return statements.read(tx).countRunnable.all({ limit: groups });
  }

  async findParked(tx: ReadTx, claimable: Claimable, rows: number): Promise<Pid[]> {
    const found = await statements.read(tx).findParked.all({ ...toLists(claimable), limit: rows });
    return found.map(({ pid }) => pid);
  }

  async findSuspect(tx: ReadTx, node: NodeId, recoveries: number): Promise<Pid | undefined> {
    return (await statements.read(tx).findSuspect.get({ node, recoveries }))?.pid;
  }

  async findUnstarted(tx: ReadTx, claimable: Claimable, rows: number): Promise<Pid[]> {
    const found = await statements.read(tx).findUnstarted.all({ ...toLists(claimable), limit: rows });
    return found.map(({ pid }) => pid);
  }
}

function toLists({ images, queues }: Claimable): { images: string; queues: string } {
  return { images: JSON.stringify(images), queues: JSON.stringify(queues) };
}
