import type Database from 'better-sqlite3';
import {
  and,
  desc,
  eq,
  exists,
  getTableColumns,
  gt,
  inArray,
  isNotNull,
  isNull,
  lt,
  lte,
  min,
  ne,
  notExists,
  or,
  sql,
} from 'drizzle-orm';
import { alias } from 'drizzle-orm/sqlite-core';
import { injectable } from 'inversify';
import type { NodeId, Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { Turns } from '../../base/turns.js';
import type { OwnerKeys, ProcessRow } from '../../kernel/process/process.js';
import type { NumberedEnd, ProcessRepository, ProcessScan } from '../../kernel/process/process-repository.js';
import { accounts } from '../schema/accounts.js';
import { effects } from '../schema/effects.js';
import { runEntries } from '../schema/execution.js';
import { processes, processTags, reaped } from '../schema/processes.js';
import type { Db } from '../sqlite/connection.js';
import { dropCached, prepareStatements, readCached } from '../sqlite/sqlite-tx.js';
import { allColumns, compileWrite, insertColumns, updateColumns } from '../sqlite/write-statements.js';
import { keepNumbers, nextNumber } from './row-numbers.js';
import { holderKey } from './sqlite-capability-repository.js';

const columns = getTableColumns(processes);
const after = gt(processes.n, sql.placeholder('after'));
const limit = sql.placeholder('limit');

/**
 * The columns of an update. `parent` and `root` are left to `move`, because SQLite rewrites the indexes of all columns
 * in an UPDATE.
 */
const changingColumns = [
  'kind',
  'status',
  'previous',
  'pausedBy',
  'image',
  'cwd',
  'goal',
  'view',
  'args',
  'generation',
  'authoritySince',
  'attempt',
  'recoveries',
  'version',
  'fence',
  'node',
  'wait',
  'stop',
  'outcome',
  'message',
  'result',
  'recovery',
  'retry',
  'acknowledgesStop',
  'failedBuilds',
  'progress',
  'startedAt',
  'updatedAt',
  'exitedAt',
  'exitOrder',
  'deadlineAt',
  'alarmAt',
] as const;
const sameVersion = and(
  eq(processes.n, sql.placeholder('n')),
  eq(processes.version, sql`${sql.placeholder('version')} - 1`),
);

/** Rows whose timer is the kernel's: all but commands that a node is stopping. */
const isOurAlarm = and(
  isNotNull(processes.alarmAt),
  or(ne(processes.kind, 'command'), ne(processes.status, 'stopping'), isNull(processes.node)),
);

const parents = alias(processes, 'parents');

/** A live parent whose body may run again: a replay needs the results of its children. */
const isReplayingParent = (db: Db) =>
  and(
    eq(parents.pid, processes.parent),
    isNull(parents.exitedAt),
    exists(db.select({ n: runEntries.process }).from(runEntries).where(eq(runEntries.process, parents.n))),
  );

/** The numbers of the rows that a walk reaches, nearest first. */
const walkTree = (db: Db, seed: ReturnType<typeof sql>, step: ReturnType<typeof sql>) =>
  db
    .select({ n: processes.n })
    .from(processes)
    .innerJoin(
      sql`(WITH RECURSIVE walk(n, pid, level) AS (${seed} UNION ALL ${step}) SELECT n, level FROM walk) AS walk`,
      sql`walk.n = ${processes.n}`,
    )
    .orderBy(sql`walk.level, walk.n`);

/** Rows of a large tree are read in parts of this size, each a turn of the event loop at most. */
const treePartRows = 250;

const startAt = sql`SELECT n, pid, 0 FROM processes WHERE pid = ${sql.placeholder('pid')}`;

const statements = prepareStatements((db: Db, raw: Database.Database) => ({
  find: db
    .select()
    .from(processes)
    .where(eq(processes.pid, sql.placeholder('pid')))
    .prepare(),
  findByNumbers: db
    .select()
    .from(processes)
    .where(inArray(processes.n, sql`(SELECT value FROM json_each(${sql.placeholder('numbers')}))`))
    .prepare(),
  findByNumber: db
    .select()
    .from(processes)
    .where(eq(processes.n, sql.placeholder('n')))
    .prepare(),
  insert: compileWrite(raw, db.insert(processes).values({ n: nextNumber('processes'), ...insertColumns(processes) })),
  update: compileWrite(raw, db.update(processes).set(updateColumns(processes, changingColumns)).where(sameVersion)),
  move: compileWrite(
    raw,
    db
      .update(processes)
      .set(updateColumns(processes, [...changingColumns, 'parent', 'root']))
      .where(sameVersion),
  ),
  changeOwner: compileWrite(
    raw,
    db
      .update(processes)
      .set(updateColumns(processes, [...changingColumns, 'owner']))
      .where(sameVersion),
  ),
  deleteTag: compileWrite(
    raw,
    db
      .delete(processTags)
      .where(
        and(
          eq(processTags.space, sql.placeholder('space')),
          eq(processTags.key, sql.placeholder('key')),
          eq(processTags.value, sql.placeholder('value')),
          eq(processTags.n, sql.placeholder('n')),
        ),
      ),
  ),
  insertTag: compileWrite(raw, db.insert(processTags).values(allColumns(processTags))),
  scanAll: db.select().from(processes).where(after).orderBy(processes.n).limit(limit).prepare(),
  scanParent: db
    .select()
    .from(processes)
    .where(and(eq(processes.parent, sql.placeholder('parent')), after))
    .orderBy(processes.n)
    .limit(limit)
    .prepare(),
  scanPids: db
    .select()
    .from(processes)
    .where(and(inArray(processes.pid, sql`(SELECT value FROM json_each(${sql.placeholder('pids')}))`), after))
    .orderBy(processes.n)
    .limit(limit)
    .prepare(),
  scanExternalRef: db
    .select()
    .from(processes)
    .where(and(eq(processes.externalRef, sql.placeholder('externalRef')), after))
    .orderBy(processes.n)
    .limit(limit)
    .prepare(),
  scanRoot: db
    .select()
    .from(processes)
    .where(and(eq(processes.root, sql.placeholder('root')), after))
    .orderBy(processes.n)
    .limit(limit)
    .prepare(),
  scanStatus: db
    .select()
    .from(processes)
    .where(and(eq(processes.status, sql.placeholder('status')), isNull(processes.exitedAt), after))
    .orderBy(processes.n)
    .limit(limit)
    .prepare(),
  scanTag: db
    .select(columns)
    .from(processTags)
    .innerJoin(processes, eq(processes.n, processTags.n))
    .where(
      and(
        eq(processTags.space, sql.placeholder('space')),
        eq(processTags.key, sql.placeholder('key')),
        eq(processTags.value, sql.placeholder('value')),
        gt(processTags.n, sql.placeholder('after')),
      ),
    )
    .orderBy(processTags.n)
    .limit(limit)
    .prepare(),
  findLiveChildren: db
    .select({ pid: processes.pid, parent: processes.parent })
    .from(processes)
    .where(
      and(
        inArray(processes.parent, sql`(SELECT value FROM json_each(${sql.placeholder('parents')}))`),
        isNull(processes.exitedAt),
      ),
    )
    .orderBy(processes.n)
    .prepare(),
  findLiveTree: walkTree(
    db,
    sql`${startAt} AND exited_at IS NULL`,
    sql`SELECT c.n, c.pid, walk.level + 1 FROM walk JOIN processes c ON c.parent = walk.pid WHERE c.exited_at IS NULL`,
  ).prepare(),
  findTree: walkTree(
    db,
    startAt,
    sql`SELECT c.n, c.pid, walk.level + 1 FROM walk JOIN processes c ON c.parent = walk.pid
        WHERE walk.level < ${sql.placeholder('depth')}`,
  ).prepare(),
  findAncestors: walkTree(
    db,
    startAt,
    sql`SELECT p.n, p.pid, walk.level + 1 FROM walk JOIN processes c ON c.n = walk.n JOIN processes p ON p.pid = c.parent`,
  ).prepare(),
  findByNode: db
    .select()
    .from(processes)
    .where(eq(processes.node, sql.placeholder('node')))
    .orderBy(processes.n)
    .prepare(),
  findNodes: db
    .selectDistinct({ node: processes.node })
    .from(processes)
    .where(isNotNull(processes.node))
    .orderBy(processes.node)
    .prepare(),
  isRunningOn: db
    .select({ n: processes.n })
    .from(processes)
    .where(and(eq(processes.node, sql.placeholder('node')), isNotNull(processes.node), eq(processes.status, 'running')))
    .limit(1)
    .prepare(),
  findDue: db
    .select()
    .from(processes)
    .where(and(isOurAlarm, lte(processes.alarmAt, sql.placeholder('now'))))
    .orderBy(processes.alarmAt)
    .limit(limit)
    .prepare(),
  findNextAlarm: db
    .select({ at: min(processes.alarmAt) })
    .from(processes)
    .where(isOurAlarm)
    .prepare(),
  findPrunable: db
    .select(columns)
    .from(processes)
    .innerJoin(accounts, eq(accounts.n, processes.n))
    .where(
      and(
        eq(processes.n, sql.placeholder('n')),
        lt(processes.exitedAt, sql.placeholder('endedBefore')),
        eq(accounts.born, 0),
        notExists(db.select({ n: parents.n }).from(parents).where(isReplayingParent(db))),
        notExists(db.select({ id: effects.id }).from(effects).where(eq(effects.pid, processes.pid))),
      ),
    )
    .prepare(),
  pageEnds: db
    .select({ n: processes.n, exitedAt: processes.exitedAt })
    .from(processes)
    .where(lt(processes.n, sql.placeholder('before')))
    .orderBy(desc(processes.n))
    .limit(limit)
    .prepare(),
  delete: compileWrite(raw, db.delete(processes).where(eq(processes.n, sql.placeholder('n')))),
  deleteReaped: compileWrite(raw, db.delete(reaped).where(eq(reaped.n, sql.placeholder('n')))),
}));

@injectable()
export class SqliteProcessRepository implements ProcessRepository {
  async find(tx: ReadTx, pid: Pid): Promise<ProcessRow | undefined> {
    return readCached(tx, processKey(pid), () => statements.read(tx).find.get({ pid }));
  }

  async findByNumber(tx: ReadTx, n: number): Promise<ProcessRow | undefined> {
    return statements.read(tx).findByNumber.get({ n });
  }

  async insert(tx: WriteTx, row: Omit<ProcessRow, 'n'>): Promise<number> {
    dropCachedProcess(tx, row.pid);
    return Number(statements.write(tx).insert.run(row).lastInsertRowid);
  }

  async update(tx: WriteTx, row: ProcessRow): Promise<boolean> {
    dropCachedProcess(tx, row.pid);
    return statements.write(tx).update.run(row).changes === 1;
  }

  async move(tx: WriteTx, row: ProcessRow): Promise<boolean> {
    dropCachedProcess(tx, row.pid);
    return statements.write(tx).move.run(row).changes === 1;
  }

  async changeOwner(tx: WriteTx, row: ProcessRow, before: OwnerKeys | null): Promise<boolean> {
    dropCachedProcess(tx, row.pid);
    const all = statements.write(tx);
    if (all.changeOwner.run(row).changes !== 1) return false;
    const { n } = row;
    const space = 'owner';
    for (const [key, value] of Object.entries(before ?? {})) all.deleteTag.run({ space, key, value, n });
    for (const [key, value] of Object.entries(row.owner ?? {})) all.insertTag.run({ space, key, value, n });
    return true;
  }

  async scan(tx: ReadTx, scan: ProcessScan, from: number, rows: number): Promise<ProcessRow[]> {
    const all = statements.read(tx);
    const page = { after: from, limit: rows };
    switch (scan.by) {
      case 'all':
        return all.scanAll.all(page);
      case 'parent':
        return all.scanParent.all({ ...page, parent: scan.parent });
      case 'root':
        return all.scanRoot.all({ ...page, root: scan.root });
      case 'pids':
        return all.scanPids.all({ ...page, pids: JSON.stringify(scan.pids) });
      case 'externalRef':
        return all.scanExternalRef.all({ ...page, externalRef: scan.externalRef });
      case 'status':
        return all.scanStatus.all({ ...page, status: scan.status });
      case 'tag':
        return all.scanTag.all({ ...page, space: scan.space, key: scan.key, value: scan.value });
    }
  }

  async findLiveChildren(tx: ReadTx, parents: readonly Pid[]): Promise<{ pid: Pid; parent: Pid | null }[]> {
    const turns = new Turns();
    const children: { pid: Pid; parent: Pid | null }[] = [];
    for (let from = 0; from < parents.length; from += treePartRows) {
      await turns.next();
      const part = JSON.stringify(parents.slice(from, from + treePartRows));
      for (const child of statements.read(tx).findLiveChildren.all({ parents: part })) children.push(child);
    }
    return children;
  }

  async findLiveTree(tx: ReadTx, pid: Pid): Promise<ProcessRow[]> {
    return readInParts(tx, statements.read(tx).findLiveTree.all({ pid }));
  }

  async findTree(tx: ReadTx, pid: Pid, depth: number): Promise<ProcessRow[]> {
    return readInParts(tx, statements.read(tx).findTree.all({ pid, depth }));
  }

  async findAncestors(tx: ReadTx, pid: Pid): Promise<ProcessRow[]> {
    return readInParts(tx, statements.read(tx).findAncestors.all({ pid }).slice(1));
  }

  async findByNode(tx: ReadTx, node: NodeId): Promise<ProcessRow[]> {
    return statements.read(tx).findByNode.all({ node });
  }

  async findNodes(tx: ReadTx): Promise<NodeId[]> {
    const rows = statements.read(tx).findNodes.all();
    return rows.flatMap(({ node }) => (node === null ? [] : [node]));
  }

  async isRunningOn(tx: ReadTx, node: NodeId): Promise<boolean> {
    return statements.read(tx).isRunningOn.get({ node }) !== undefined;
  }

  async findDue(tx: ReadTx, now: number, rows: number): Promise<ProcessRow[]> {
    return statements.read(tx).findDue.all({ now, limit: rows });
  }

  async findNextAlarm(tx: ReadTx): Promise<number | null> {
    return statements.read(tx).findNextAlarm.get()?.at ?? null;
  }

  async findPrunable(tx: ReadTx, n: number, endedBefore: number): Promise<ProcessRow | undefined> {
    return statements.read(tx).findPrunable.get({ n, endedBefore });
  }

  async pageEnds(tx: ReadTx, before: number, rows: number): Promise<readonly NumberedEnd[]> {
    return statements.read(tx).pageEnds.all({ before, limit: rows });
  }

  async delete(tx: WriteTx, row: ProcessRow): Promise<void> {
    dropCachedProcess(tx, row.pid);
    const all = statements.write(tx);
    const { n, labels, owner } = row;
    keepNumbers(tx, 'processes');
    all.delete.run({ n });
    for (const [space, tags] of [['label', labels] as const, ['owner', owner] as const])
      for (const [key, value] of Object.entries(tags ?? {})) all.deleteTag.run({ space, key, value, n });
    all.deleteReaped.run({ n });
  }
}

/** The rows with these numbers, in their order. */
async function readInParts(tx: ReadTx, numbers: readonly { readonly n: number }[]): Promise<ProcessRow[]> {
  const turns = new Turns();
  const rows: ProcessRow[] = [];
  for (let from = 0; from < numbers.length; from += treePartRows) {
    await turns.next();
    const part = numbers.slice(from, from + treePartRows).map(({ n }) => n);
    const found = statements.read(tx).findByNumbers.all({ numbers: JSON.stringify(part) });
    const byNumber = new Map(found.map((row) => [row.n, row]));
    for (const n of part) {
      const row = byNumber.get(n);
      if (row !== undefined) rows.push(row);
    }
  }
  return rows;
}

function processKey(pid: Pid): string {
  return `process ${pid}`;
}

/** Drops both cached values that are read from the row. */
function dropCachedProcess(tx: WriteTx, pid: Pid): void {
  dropCached(tx, processKey(pid));
  dropCached(tx, holderKey(pid));
}
