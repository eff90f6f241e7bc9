import {
  and,
  desc,
  eq,
  exists,
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
import type { NodeId, Pid } from '../../../base/ids.js';
import type { ReadTx, WriteTx } from '../../../base/store.js';
import { Turns } from '../../../base/turns.js';
import type { OwnerKeys, ProcessRow } from '../../../kernel/process/process.js';
import type {
  NumberedEnd,
  ProcessConditions,
  ProcessPage,
  ProcessRange,
  ProcessRepository,
  ProcessScan,
} from '../../../kernel/process/process-repository.js';
import { effects } from '../../schema/effects.js';
import { runEntries } from '../../schema/execution.js';
import { processes, processTags } from '../../schema/processes.js';
import { allColumns, compileWrite } from '../../statements/compiled-writes.js';
import { prepareStatements } from '../../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../../statements/statement-connection.js';
import { keepNumbers, takeNumber } from '../../working-set/row-numbers.js';
import {
  accountRows,
  capabilityRows,
  messageRows,
  processRows,
  reapedRows,
  reservationRows,
  runEntryRows,
  settingRows,
} from '../../working-set/tables.js';
import { countProcesses, scanProcesses } from './sql-process-scans.js';

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

/** The processes that a walk reaches, nearest first. */
const walkTree = (db: Db, seed: ReturnType<typeof sql>, step: ReturnType<typeof sql>) =>
  db
    .select({ pid: processes.pid })
    .from(processes)
    .innerJoin(
      sql`(WITH RECURSIVE walk(n, pid, level) AS (${seed} UNION ALL ${step}) SELECT n, level FROM walk) AS walk`,
      sql`walk.n = ${processes.n}`,
    )
    .orderBy(sql`walk.level, walk.n`);

/** Parents of a large tree are looked at in parts of this size. */
const partParents = 250;

const startAt = sql`SELECT n, pid, CAST(0 AS bigint) FROM processes WHERE pid = ${sql.placeholder('pid')}`;

const statements = prepareStatements((db: Db, raw: StatementConnection) => ({
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
  findLiveChildren: db
    .select({ pid: processes.pid })
    .from(processes)
    .where(and(raw.dialect.inList(processes.parent, 'parents'), isNull(processes.exitedAt)))
    .orderBy(processes.n)
    .prepare(),
  findLiveTrees: walkTree(
    db,
    sql`SELECT n, pid, 0 FROM processes WHERE ${raw.dialect.inList(processes.pid, 'pids')} AND exited_at IS NULL`,
    sql`SELECT c.n, c.pid, walk.level + 1 FROM walk JOIN processes c ON c.parent = walk.pid WHERE c.exited_at IS NULL`,
  ).prepare(),
  findChildren: db
    .select()
    .from(processes)
    .where(and(raw.dialect.inList(processes.parent, 'parents'), gt(processes.n, sql.placeholder('after'))))
    .orderBy(processes.n)
    .limit(limit)
    .prepare(),
  findParentsOf: db
    .selectDistinct({ pid: processes.parent })
    .from(processes)
    .where(and(raw.dialect.inList(processes.parent, 'parents'), gt(processes.n, sql.placeholder('after'))))
    .prepare(),
  findAncestors: walkTree(
    db,
    startAt,
    sql`SELECT p.n, p.pid, walk.level + 1 FROM walk JOIN processes c ON c.n = walk.n JOIN processes p ON p.pid = c.parent`,
  ).prepare(),
  findByNode: db
    .select({ pid: processes.pid })
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
    .select({ pid: processes.pid })
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
    .select({ pid: processes.pid })
    .from(processes)
    .where(
      and(
        raw.dialect.inList(processes.n, 'numbers'),
        lt(processes.exitedAt, sql.placeholder('endedBefore')),
        notExists(db.select({ n: parents.n }).from(parents).where(isReplayingParent(db))),
        notExists(db.select({ id: effects.id }).from(effects).where(eq(effects.pid, processes.pid))),
      ),
    )
    .orderBy(desc(processes.n))
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
export class SqlProcessRepository implements ProcessRepository {
  async find(tx: ReadTx, pid: Pid): Promise<ProcessRow | undefined> {
    return processRows.get(tx, pid);
  }

  async findAll(tx: ReadTx, pids: readonly Pid[]): Promise<ProcessRow[]> {
    return processRows.getAll(tx, pids);
  }

  async findByNumber(tx: ReadTx, n: number): Promise<ProcessRow | undefined> {
    return processRows.getBy(tx, n);
  }

  async insert(tx: WriteTx, row: Omit<ProcessRow, 'n'>): Promise<number> {
    const n = await takeNumber(tx, 'processes');
    processRows.insert(tx, { ...row, n });
    accountRows.knowAbsent(tx, n);
    reapedRows.knowAbsent(tx, n);
    runEntryRows.knowEmpty(tx, 'ofProcess', n);
    // A pid that was chosen may have been that of a process before, of which something is left.
    if (row.id === null) knowNothingOf(tx, row.pid);
    return n;
  }

  async update(tx: WriteTx, row: ProcessRow): Promise<boolean> {
    const current = await processRows.get(tx, row.pid);
    if (current?.version !== row.version - 1) return false;
    await processRows.put(tx, row);
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

  async scan(tx: ReadTx, scan: ProcessScan, range: ProcessRange): Promise<ProcessPage> {
    return scanProcesses(tx, scan, range);
  }

  async count(tx: ReadTx, conditions: Omit<ProcessConditions, 'text'>, after: number | undefined) {
    return countProcesses(tx, conditions, after);
  }

  async findLiveChildren(tx: ReadTx, parents: readonly Pid[]): Promise<ProcessRow[]> {
    const [parent] = parents;
    const known = parents.length === 1 && parent !== undefined && (await processRows.list(tx, 'liveChildren', parent));
    if (known) return known.sort((a, b) => a.n - b.n);
    const turns = new Turns();
    const children: { readonly pid: Pid }[] = [];
    for (let from = 0; from < parents.length; from += partParents) {
      await turns.next();
      const part = JSON.stringify(parents.slice(from, from + partParents));
      for (const child of await statements.read(tx).findLiveChildren.all({ parents: part })) children.push(child);
    }
    return rowsOf(tx, children);
  }

  async loadLiveChildren(tx: WriteTx, parents: readonly Pid[]): Promise<void> {
    await processRows.loadLists(tx, 'liveChildren', parents);
  }

  async findLiveTrees(tx: ReadTx, pids: readonly Pid[]): Promise<ProcessRow[]> {
    if (pids.length === 0) return [];
    return rowsOf(tx, await statements.read(tx).findLiveTrees.all({ pids: JSON.stringify(pids) }));
  }

  async findChildren(tx: ReadTx, parents: readonly Pid[], after: number, rows: number): Promise<ProcessRow[]> {
    return statements.read(tx).findChildren.all({ parents: JSON.stringify(parents), after, limit: rows });
  }

  async findParentsOf(tx: ReadTx, parents: readonly Pid[], after: number): Promise<Pid[]> {
    const found = await statements.read(tx).findParentsOf.all({ parents: JSON.stringify(parents), after });
    return found.flatMap(({ pid }) => pid ?? []);
  }

  async findAncestors(tx: ReadTx, pid: Pid): Promise<ProcessRow[]> {
    return rowsOf(tx, (await statements.read(tx).findAncestors.all({ pid })).slice(1));
  }

  async nextExit(tx: WriteTx): Promise<number> {
    const next = Number((await settingRows.get(tx, newestExit))?.value ?? 0) + 1;
    await settingRows.put(tx, { name: newestExit, value: String(next) });
    return next;
  }

  async findByNode(tx: ReadTx, node: NodeId): Promise<ProcessRow[]> {
    return rowsOf(tx, await statements.read(tx).findByNode.all({ node }));
  }

  async findNodes(tx: ReadTx): Promise<NodeId[]> {
    const rows = await statements.read(tx).findNodes.all();
    return rows.flatMap(({ node }) => (node === null ? [] : [node]));
  }

  async isRunningOn(tx: ReadTx, node: NodeId): Promise<boolean> {
    return (await statements.read(tx).isRunningOn.get({ node })) !== undefined;
  }

  async findDue(tx: ReadTx, now: number, rows: number): Promise<ProcessRow[]> {
    return rowsOf(tx, await statements.read(tx).findDue.all({ now, limit: rows }));
  }

  async findNextAlarm(tx: ReadTx): Promise<number | null> {
    return (await statements.read(tx).findNextAlarm.get())?.at ?? null;
  }

  async findPrunable(tx: ReadTx, numbers: readonly number[], endedBefore: number): Promise<ProcessRow[]> {
    const found = await statements.read(tx).findPrunable.all({ numbers: JSON.stringify(numbers), endedBefore });
    return rowsOf(tx, found);
  }

  async pageEnds(tx: ReadTx, before: number, rows: number): Promise<readonly NumberedEnd[]> {
    return statements.read(tx).pageEnds.all({ before, limit: rows });
  }

  async delete(tx: WriteTx, rows: readonly ProcessRow[]): Promise<void> {
    await keepNumbers(tx, 'processes');
    await reapedRows.getAll(
      tx,
      rows.map(({ n }) => n),
    );
    const all = statements.write(tx);
    for (const { n, pid, labels, owner } of rows) {
      for (const [space, tags] of [['label', labels] as const, ['owner', owner] as const])
        for (const [key, value] of Object.entries(tags ?? {})) all.deleteTag.run({ space, key, value, n });
      await processRows.remove(tx, pid);
      await reapedRows.remove(tx, n);
    }
  }
}

/** The setting that has the place of the process that ended last. */
const newestExit = 'newest_exit';

/** Of a process that is new: nothing can hang on it. */
function knowNothingOf(tx: WriteTx, pid: Pid): void {
  processRows.knowEmpty(tx, 'liveChildren', pid);
  capabilityRows.knowEmpty(tx, 'ofHolder', pid);
  reservationRows.knowEmpty(tx, 'ofProcess', pid);
  messageRows.knowEmpty(tx, 'ofReceiver', pid);
}

/** The rows of the processes that a query has found, in its order, once each. */
function rowsOf(tx: ReadTx, found: readonly { readonly pid: Pid }[]): Promise<ProcessRow[]> {
  return processRows.getAll(tx, [...new Set(found.map(({ pid }) => pid))]);
}
