import type Database from 'better-sqlite3';
import { and, eq, getTableColumns, gt, gte, inArray, isNotNull, lte, sql } from 'drizzle-orm';
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
import type { Db } from '../sqlite/connection.js';
import { done, dropCached, prepareStatements, readCached } from '../sqlite/sqlite-tx.js';
import { allColumns, compileWrite, updateColumns } from '../sqlite/write-statements.js';

/** The row number: the index by parent and status is in this order. */
const rowNumber = sql<number>`${capabilities}.rowid`;
const hasLiveBelow = sql`EXISTS (SELECT 1 FROM capabilities AS below
  WHERE below.parent = ${capabilities.id} AND below.status = 'live')`;
/** On objects and namespaces, but for those of processes on their own; as the index says it. */
const isOnMemory = sql`${capabilities.own} = 0 AND ${capabilities.resource} >= 'ns:' AND ${capabilities.resource} < 'objecu'`;
const columns = getTableColumns(capabilities);
const link = { n: rowNumber, id: capabilities.id, holder: capabilities.holder, resource: capabilities.resource };

const statements = prepareStatements((db: Db, raw: Database.Database) => ({
  find: db
    .select()
    .from(capabilities)
    .where(eq(capabilities.id, sql.placeholder('id')))
    .prepare(),
  insert: compileWrite(raw, db.insert(capabilities).values(allColumns(capabilities))),
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
      and(
        eq(capabilities.holder, sql.placeholder('holder')),
        inArray(capabilities.resource, sql`(SELECT value FROM json_each(${sql.placeholder('resources')}))`),
      ),
    )
    .prepare(),
  findOnMemory: db
    .select()
    .from(capabilities)
    .where(
      and(
        isOnMemory,
        inArray(capabilities.resource, sql`(SELECT value FROM json_each(${sql.placeholder('resources')}))`),
      ),
    )
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
  setHolder: compileWrite(
    raw,
    db
      .update(capabilities)
      .set(updateColumns(capabilities, ['holder', 'generation']))
      .where(eq(capabilities.id, sql.placeholder('id'))),
  ),
  revoke: compileWrite(
    raw,
    db
      .update(capabilities)
      .set({ status: 'revoked', sweeping: sql`nullif(${hasLiveBelow}, 0)` })
      .where(eq(capabilities.id, sql.placeholder('id'))),
  ),
  takeUses: compileWrite(
    raw,
    db
      .update(capabilities)
      .set({ uses: sql`${capabilities.uses} - 1` })
      .where(
        and(
          inArray(capabilities.id, sql`(SELECT value FROM json_each(${sql.placeholder('ids')}))`),
          gt(capabilities.uses, 0),
        ),
      ),
  ),
  findSweeping: db
    .select({ id: capabilities.id })
    .from(capabilities)
    .where(isNotNull(capabilities.sweeping))
    .limit(sql.placeholder('limit'))
    .prepare(),
  endSweeping: compileWrite(
    raw,
    db
      .update(capabilities)
      .set({ sweeping: null })
      .where(eq(capabilities.id, sql.placeholder('id'))),
  ),
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
  findHolder: db
    .select({
      n: processes.n,
      path: processes.path,
      parent: processes.parent,
      view: processes.view,
      goal: processes.goal,
      result: processes.result,
      status: processes.status,
      exitedAt: processes.exitedAt,
      generation: processes.generation,
      authoritySince: processes.authoritySince,
    })
    .from(processes)
    .where(eq(processes.pid, sql.placeholder('pid')))
    .prepare(),
}));

@injectable()
export class SqliteCapabilityRepository implements CapabilityRepository {
  async find(tx: ReadTx, id: CapabilityId): Promise<CapabilityRecord | undefined> {
    return statements.read(tx).find.get({ id });
  }

  insert(tx: WriteTx, records: readonly CapabilityRecord[]): Promise<void> {
    const { insert } = statements.write(tx);
    for (const record of records) {
      dropCachedHoldings(tx, record);
      insert.run(record);
    }
    return done;
  }

  async findByHolder(tx: ReadTx, holder: Pid, kind?: ResourceKind): Promise<readonly CapabilityRecord[]> {
    return statements.read(tx).findByHolder.all({ holder, ...resourceRange(kind) });
  }

  async pageByHolder(
    tx: ReadTx,
    holder: Pid,
    { kind, after, limit }: HolderPage,
  ): Promise<readonly NumberedCapability[]> {
    const { from, to } = resourceRange(kind);
    return statements
      .read(tx)
      .pageByHolder.all({ holder, from: after?.resource ?? from, after: after?.n ?? 0, to, limit });
  }

  /** Cached, because in a burst of spawns one parent delegates the same capabilities to many children. */
  async findByResource(tx: ReadTx, holder: Pid, texts: readonly string[]): Promise<readonly CapabilityRecord[]> {
    const cache = readCached(
      tx,
      holdingsKey(holder, kindOf(texts[0] ?? '')),
      () => new Map<string, CapabilityRecord[]>(),
    );
    const resources = JSON.stringify(texts);
    const records = cache.get(resources) ?? statements.read(tx).findByResource.all({ holder, resources });
    cache.set(resources, records);
    return records;
  }

  async hasResourcePrefix(tx: ReadTx, holder: Pid, prefix: string): Promise<boolean> {
    return statements.read(tx).hasResourcePrefix.get({ holder, from: prefix, to: prefix + afterAll }) !== undefined;
  }

  async findOnMemory(tx: ReadTx, texts: readonly string[]): Promise<readonly CapabilityRecord[]> {
    return statements.read(tx).findOnMemory.all({ resources: JSON.stringify(texts) });
  }

  async hasMemoryPrefix(tx: ReadTx, prefix: string): Promise<boolean> {
    return statements.read(tx).hasMemoryPrefix.get({ from: prefix, to: prefix + afterAll }) !== undefined;
  }

  async findChildren(tx: ReadTx, pid: Pid): Promise<readonly Pid[]> {
    const found = statements.read(tx).findChildren.all({ pid });
    return found.map(({ pid: child }) => child);
  }

  async findHolder(tx: ReadTx, pid: Pid): Promise<HolderState | undefined> {
    return readCached(tx, holderKey(pid), () => {
      const found = statements.read(tx).findHolder.get({ pid });
      if (found === undefined) return undefined;
      const { status, exitedAt, ...rest } = found;
      return { ...rest, live: exitedAt === null, stopping: status === 'stopping', succeeded: status === 'exited' };
    });
  }

  async setHolder(tx: WriteTx, record: CapabilityRecord, to: { pid: Pid; generation: number }): Promise<void> {
    dropCachedHoldings(tx, record);
    dropCachedHoldings(tx, { ...record, holder: to.pid });
    statements.write(tx).setHolder.run({ id: record.id, holder: to.pid, generation: to.generation });
  }

  async revoke(tx: WriteTx, capability: Pick<CapabilityRecord, 'id' | 'holder' | 'resource'>): Promise<void> {
    dropCachedHoldings(tx, capability);
    statements.write(tx).revoke.run({ id: capability.id });
  }

  async takeUses(tx: WriteTx, records: readonly CapabilityRecord[]): Promise<boolean> {
    for (const record of records) dropCachedHoldings(tx, record);
    const ids = JSON.stringify(records.map(({ id }) => id));
    return statements.write(tx).takeUses.run({ ids }).changes === records.length;
  }

  async findSweeping(tx: ReadTx, limit: number): Promise<readonly CapabilityId[]> {
    return statements
      .read(tx)
      .findSweeping.all({ limit })
      .map(({ id }) => id);
  }

  async endSweeping(tx: WriteTx, id: CapabilityId): Promise<void> {
    statements.write(tx).endSweeping.run({ id });
  }

  async pageLiveBelow(
    tx: ReadTx,
    parent: CapabilityId,
    after: number,
    limit: number,
  ): Promise<readonly LinkedCapability[]> {
    const found = statements.read(tx).pageLiveBelow.all({ parent, after, limit });
    return found.map((row) => ({ ...row, hasBelow: row.hasBelow === 1 }));
  }

  async scan(tx: ReadTx, after: number, limit: number): Promise<readonly ScannedCapability[]> {
    return statements.read(tx).scan.all({ after, limit });
  }
}

/** Sorts behind every resource of its kind. */
const afterAll = '\u{10ffff}';

/** The resources of one kind, or all of them. */
function resourceRange(kind: ResourceKind | undefined): { from: string; to: string } {
  return kind === undefined ? { from: '', to: afterAll } : { from: `${kind}:`, to: `${kind}:${afterAll}` };
}

function holdingsKey(holder: Pid, kind: string): string {
  return `held ${holder} ${kind}`;
}

/** To be called with every change of what a process holds. */
export function dropCachedHoldings(
  tx: WriteTx,
  { holder, resource }: Pick<CapabilityRecord, 'holder' | 'resource'>,
): void {
  dropCached(tx, holdingsKey(holder, kindOf(resource)));
}

function kindOf(resource: string): string {
  return resource.slice(0, resource.indexOf(':'));
}

export function holderKey(pid: Pid): string {
  return `holder ${pid}`;
}
