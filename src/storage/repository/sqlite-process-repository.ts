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
import { processes, processTags } from '../schema/processes.js';
import type { Db } from '../sqlite/connection.js';
import { prepareStatements } from '../sqlite/sqlite-tx.js';
import { allColumns, compileWrite } from '../sqlite/write-statements.js';
import { keepNumbers, takeNumber } from '../working-set/row-numbers.js';
import {
  accountRows,
  capabilityRows,
  messageRows,
  processRows,
  reapedRows,
  reservationRows,
  runEntryRows,
} from '../working-set/tables.js';

const columns = getTableColumns(processes);
const after = gt(processes.n, sql.placeholder('after'));
const limit = sql.placeholder('limit');

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
  findByNumbers: db
    .select()
    .from(processes)
    .where(inArray(processes.n, sql`(SELECT value FROM json_each(${sql.placeholder('numbers')}))`))
    .prepare(),
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
    .where(
      and(
        eq(processes.node, sql.placeholder('node')),
        isNotNull(processes.node),
        inArray(processes.status, ['created', 'running']),
      ),
    )
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
}));

@injectable()
export class SqliteProcessRepository implements ProcessRepository {
  async find(tx: ReadTx, pid: Pid): Promise<ProcessRow | undefined> {
    return processRows.get(tx, pid);
  }

  async findByNumber(tx: ReadTx, n: number): Promise<ProcessRow | undefined> {
    return processRows.getBy(tx, n);
  }

  async insert(tx: WriteTx, row: Omit<ProcessRow, 'n'>): Promise<number> {
    const n = takeNumber(tx, 'processes');
    processRows.insert(tx, { ...row, n });
    accountRows.knowAbsent(tx, n);
    reapedRows.knowAbsent(tx, n);
    runEntryRows.knowEmpty(tx, 'ofProcess', n);
    // A pid that was chosen may have been that of a process before, of which something is left.
    if (row.id === null) knowNothingOf(tx, row.pid);
    return n;
  }

  async update(tx: WriteTx, row: ProcessRow): Promise<boolean> {
    const current = processRows.get(tx, row.pid);
    if (current?.version !== row.version - 1) return false;
    processRows.put(tx, row);
    return true;
  }

  async changeOwner(tx: WriteTx, row: ProcessRow, before: OwnerKeys | null): Promise<boolean> {
    if (!(await this.update(tx, row))) return false;
    const all = statements.write(tx);
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
    const [parent] = parents;
    const known = parents.length === 1 && parent !== undefined && processRows.list(tx, 'liveChildren', parent);
    if (known) return known.sort((a, b) => a.n - b.n);
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
    const { n, labels, owner } = row;
    keepNumbers(tx, 'processes');
    const all = statements.write(tx);
    for (const [space, tags] of [['label', labels] as const, ['owner', owner] as const])
      for (const [key, value] of Object.entries(tags ?? {})) all.deleteTag.run({ space, key, value, n });
    processRows.remove(tx, row.pid);
    reapedRows.remove(tx, n);
  }
}

/** Of a process that is new: nothing can hang on it. */
function knowNothingOf(tx: WriteTx, pid: Pid): void {
  processRows.knowEmpty(tx, 'liveChildren', pid);
  capabilityRows.knowEmpty(tx, 'ofHolder', pid);
  reservationRows.knowEmpty(tx, 'ofProcess', pid);
  messageRows.knowEmpty(tx, 'ofReceiver', pid);
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
