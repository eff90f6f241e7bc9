import { and, eq, getTableColumns, gt, gte, isNotNull, lte, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { CapabilityId, Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { CapabilityRecord } from '../../capability/holding/capability-record.js';
import type {
  CapabilityRepository,
  HolderPage,
  HolderState,
  LinkedCapability,
  NumberedCapability,
  ScannedCapability,
} from '../../capability/holding/capability-repository.js';
import type { ResourceKind } from '../../capability/resource/resource.js';
import { capabilities } from '../schema/capabilities.js';
import { processes } from '../schema/processes.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';
import { capabilityRows, processRows } from '../working-set/tables.js';

/** The row number: the index by parent and status is in this order. */
const rowNumber = sql<number>`${capabilities}.rowid`;
const hasLiveBelow = sql`EXISTS (SELECT 1 FROM capabilities AS below
  WHERE below.parent = ${capabilities.id} AND below.status = 'live')`;
/** On objects and namespaces, but for those of processes on their own; as the index says it. */
const isOnMemory = sql`${capabilities.own} = 0 AND ${capabilities.resource} >= 'ns:' AND ${capabilities.resource} < 'objecu'`;
const columns = getTableColumns(capabilities);
const link = {
  n: rowNumber,
  id: capabilities.id,
  parent: capabilities.parent,
  holder: capabilities.holder,
  resource: capabilities.resource,
};

const statements = prepareStatements((db: Db, raw: StatementConnection) => ({
  findByHolder: db
    .select()
    .from(capabilities)
    .where(
      and(
        eq(capabilities.holder, sql.placeholder('holder')),
        gte(capabilities.resource, sql.placeholder('from')),
        lte(capabilities.resource, sql.placeholder('to')),
      ),
    )
    .orderBy(capabilities.resource, capabilities.id)
    .prepare(),
  pageByHolder: db
    .select({ ...columns, n: rowNumber })
    .from(capabilities)
    .where(
      and(
        eq(capabilities.holder, sql.placeholder('holder')),
        sql`(${capabilities.resource}, ${rowNumber}) > (${sql.placeholder('from')}, ${sql.placeholder('after')})`,
        lte(capabilities.resource, sql.placeholder('to')),
      ),
    )
    .orderBy(capabilities.resource, rowNumber)
    .limit(sql.placeholder('limit'))
    .prepare(),
  findByResource: db
    .select()
    .from(capabilities)
    .where(
      and(eq(capabilities.holder, sql.placeholder('holder')), raw.dialect.inList(capabilities.resource, 'resources')),
    )
    .prepare(),
  findOnMemory: db
    .select()
    .from(capabilities)
    .where(and(isOnMemory, raw.dialect.inList(capabilities.resource, 'resources')))
    .prepare(),
  hasMemoryPrefix: db
    .select({ n: rowNumber })
    .from(capabilities)
    .where(
      and(
        isOnMemory,
        gte(capabilities.resource, sql.placeholder('from')),
        lte(capabilities.resource, sql.placeholder('to')),
      ),
    )
    .limit(1)
    .prepare(),
  hasResourcePrefix: db
    .select({ n: rowNumber })
    .from(capabilities)
    .where(
      and(
        eq(capabilities.holder, sql.placeholder('holder')),
        gte(capabilities.resource, sql.placeholder('from')),
        lte(capabilities.resource, sql.placeholder('to')),
      ),
    )
    .limit(1)
    .prepare(),
  hasLiveBelow: db
    .select({ n: rowNumber })
    .from(capabilities)
    .where(and(eq(capabilities.parent, sql.placeholder('id')), eq(capabilities.status, 'live')))
    .limit(1)
    .prepare(),
  findSweeping: db
    .select({ id: capabilities.id })
    .from(capabilities)
    .where(isNotNull(capabilities.sweeping))
    .limit(sql.placeholder('limit'))
    .prepare(),
  pageLiveBelow: db
    .select({ ...link, hasBelow: sql<number>`${hasLiveBelow}` })
    .from(capabilities)
    .where(
      and(
        eq(capabilities.parent, sql.placeholder('parent')),
        eq(capabilities.status, 'live'),
        gt(rowNumber, sql.placeholder('after')),
      ),
    )
    .orderBy(rowNumber)
    .limit(sql.placeholder('limit'))
    .prepare(),
  findLiveBelow: db
    .select({ ...link, hasBelow: sql<number>`${hasLiveBelow}` })
    .from(capabilities)
    .where(and(raw.dialect.inList(capabilities.parent, 'parents'), eq(capabilities.status, 'live')))
    .orderBy(capabilities.parent, rowNumber)
    .limit(sql.placeholder('limit'))
    .prepare(),
  scan: db
    .select({ ...link, rights: capabilities.rights })
    .from(capabilities)
    .where(and(gt(rowNumber, sql.placeholder('after')), eq(capabilities.status, 'live')))
    .orderBy(rowNumber)
    .limit(sql.placeholder('limit'))
    .prepare(),
  findChildren: db
    .select({ pid: processes.pid })
    .from(processes)
    .where(eq(processes.parent, sql.placeholder('pid')))
    .orderBy(processes.n)
    .prepare(),
}));

@injectable()
export class SqlCapabilityRepository implements CapabilityRepository {
  async find(tx: ReadTx, id: CapabilityId): Promise<CapabilityRecord | undefined> {
    return capabilityRows.get(tx, id);
  }

  async findAll(tx: ReadTx, ids: readonly CapabilityId[]): Promise<readonly CapabilityRecord[]> {
    return capabilityRows.getAll(tx, ids);
  }

  async insert(tx: WriteTx, records: readonly CapabilityRecord[]): Promise<void> {
    for (const record of records) capabilityRows.insert(tx, record);
  }

  async findByHolder(tx: ReadTx, holder: Pid, kind?: ResourceKind): Promise<readonly CapabilityRecord[]> {
    const held = await capabilityRows.list(tx, 'ofHolder', holder);
    if (held === undefined) return await statements.read(tx).findByHolder.all({ holder, ...resourceRange(kind) });
    return held.filter(({ resource }) => kind === undefined || resource.startsWith(`${kind}:`)).sort(byResource);
  }

  async loadHolders(tx: WriteTx, holders: readonly Pid[]): Promise<void> {
    await capabilityRows.loadLists(tx, 'ofHolder', holders);
  }

  async pageByHolder(
    tx: ReadTx,
    holder: Pid,
    { kind, after, limit }: HolderPage,
  ): Promise<readonly NumberedCapability[]> {
    const { from, to } = resourceRange(kind);
    return await statements
      .read(tx)
      .pageByHolder.all({ holder, from: after?.resource ?? from, after: after?.n ?? 0, to, limit });
  }

  async findByResource(tx: ReadTx, holder: Pid, texts: readonly string[]): Promise<readonly CapabilityRecord[]> {
    const held = await capabilityRows.list(tx, 'ofHolder', holder);
    if (held === undefined) return statements.read(tx).findByResource.all({ holder, resources: JSON.stringify(texts) });
    return held.filter(({ resource }) => texts.includes(resource)).sort(byResource);
  }

  async hasResourcePrefix(tx: ReadTx, holder: Pid, prefix: string): Promise<boolean> {
    const held = await capabilityRows.list(tx, 'ofHolder', holder);
    if (held !== undefined) return held.some(({ resource }) => resource.startsWith(prefix));
    return (
      (await statements.read(tx).hasResourcePrefix.get({ holder, from: prefix, to: prefix + afterAll })) !== undefined
    );
  }

  async findOnMemory(tx: ReadTx, texts: readonly string[]): Promise<readonly CapabilityRecord[]> {
    return statements.read(tx).findOnMemory.all({ resources: JSON.stringify(texts) });
  }

  async hasMemoryPrefix(tx: ReadTx, prefix: string): Promise<boolean> {
    return (await statements.read(tx).hasMemoryPrefix.get({ from: prefix, to: prefix + afterAll })) !== undefined;
  }

  async findChildren(tx: ReadTx, pid: Pid): Promise<readonly Pid[]> {
    const found = await statements.read(tx).findChildren.all({ pid });
    return found.map(({ pid: child }) => child);
  }

  async findHolder(tx: ReadTx, pid: Pid): Promise<HolderState | undefined> {
    const found = await processRows.get(tx, pid);
    return found === undefined ? undefined : toHolderState(found);
  }

  async findHolders(tx: ReadTx, pids: readonly Pid[]): Promise<ReadonlyMap<Pid, HolderState>> {
    return new Map((await processRows.getAll(tx, pids)).map((row) => [row.pid, toHolderState(row)]));
  }

  async setHolder(tx: WriteTx, record: CapabilityRecord, to: { pid: Pid; generation: number }): Promise<void> {
    await this.change(tx, record.id, { holder: to.pid, generation: to.generation });
  }

  async revoke(tx: WriteTx, { id }: Pick<CapabilityRecord, 'id' | 'holder' | 'resource'>): Promise<void> {
    const hasBelow = (await statements.read(tx).hasLiveBelow.get({ id })) !== undefined;
    await this.change(tx, id, { status: 'revoked', sweeping: hasBelow ? true : null });
  }

  async revokeAll(tx: WriteTx, revoked: readonly Pick<LinkedCapability, 'id' | 'hasBelow'>[]): Promise<void> {
    await capabilityRows.getAll(
      tx,
      revoked.map(({ id }) => id),
    );
    for (const { id, hasBelow } of revoked) {
      await this.change(tx, id, { status: 'revoked', sweeping: hasBelow ? true : null });
    }
  }

  async takeUses(tx: WriteTx, records: readonly CapabilityRecord[]): Promise<boolean> {
    const current = await capabilityRows.getAll(
      tx,
      records.map(({ id }) => id),
    );
    if (current.length < records.length || !current.every(({ uses }) => (uses ?? 0) > 0)) return false;
    for (const { id, uses } of current) await this.change(tx, id, { uses: (uses ?? 0) - 1 });
    return true;
  }

  async findSweeping(tx: ReadTx, limit: number): Promise<readonly CapabilityId[]> {
    return (await statements.read(tx).findSweeping.all({ limit })).map(({ id }) => id);
  }

  async endSweeping(tx: WriteTx, ids: readonly CapabilityId[]): Promise<void> {
    await capabilityRows.getAll(tx, ids);
    for (const id of ids) await this.change(tx, id, { sweeping: null });
  }

  async pageLiveBelow(
    tx: ReadTx,
    parent: CapabilityId,
    after: number,
    limit: number,
  ): Promise<readonly LinkedCapability[]> {
    const found = await statements.read(tx).pageLiveBelow.all({ parent, after, limit });
    return found.map((row) => ({ ...row, hasBelow: row.hasBelow === 1 }));
  }

  async findLiveBelow(
    tx: ReadTx,
    parents: readonly CapabilityId[],
    limit: number,
  ): Promise<readonly LinkedCapability[]> {
    const found = await statements.read(tx).findLiveBelow.all({ parents: JSON.stringify(parents), limit });
    return found.map((row) => ({ ...row, hasBelow: row.hasBelow === 1 }));
  }

  async scan(tx: ReadTx, after: number, limit: number): Promise<readonly ScannedCapability[]> {
    return statements.read(tx).scan.all({ after, limit });
  }

  private async change(
    tx: WriteTx,
    id: CapabilityId,
    changes: Partial<typeof capabilities.$inferSelect>,
  ): Promise<void> {
    const row = await capabilityRows.get(tx, id);
    if (row !== undefined) await capabilityRows.put(tx, { ...row, ...changes });
  }
}

function toHolderState(row: typeof processes.$inferSelect): HolderState {
  const { n, path, parent, view, goal, result, status, exitedAt, generation, authoritySince } = row;
  return {
    ...{ n, path, parent, view, goal, result, generation, authoritySince },
    live: exitedAt === null,
    stopping: status === 'stopping',
    succeeded: status === 'exited',
  };
}

function byResource(a: CapabilityRecord, b: CapabilityRecord): number {
  if (a.resource !== b.resource) return a.resource < b.resource ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}

/** Sorts behind every resource of its kind. */
const afterAll = '\u{10ffff}';

/** The resources of one kind, or all of them. */
function resourceRange(kind: ResourceKind | undefined): { from: string; to: string } {
  return kind === undefined ? { from: '', to: afterAll } : { from: `${kind}:`, to: `${kind}:${afterAll}` };
}
