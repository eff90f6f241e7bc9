import { and, eq, inArray, isNull, type SQL, sql } from 'drizzle-orm';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import { injectable } from 'inversify';
import type { CapabilityId, NodeId, Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { ProcessRow } from '../../kernel/process/process.js';
import type {
  InheritedCapability,
  LeftBehind,
  LeftBehindPage,
  PruneRepository,
} from '../../kernel/process/prune-repository.js';
import { reservations } from '../schema/accounts.js';
import { agentMessages, agentTurns } from '../schema/agents.js';
import { approvals, capabilities, rules } from '../schema/capabilities.js';
import { commands } from '../schema/effects.js';
import { messages, processLogs, runEntries } from '../schema/execution.js';
import { objectVersions, overlays, viewEntries, views } from '../schema/memory.js';
import { registrations, userSignals } from '../schema/processes.js';
import { questions } from '../schema/questions.js';
import { compileWrite } from '../statements/compiled-writes.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';
import { keepNumbers } from '../working-set/row-numbers.js';
import { dropUnusedPayloads } from './payload-store.js';

/** The rows that belong to processes, by table, with what tells it. */
const ownedRows = ({
  dialect: { inList },
}: StatementConnection): readonly (readonly [SQLiteTable, SQL | undefined])[] => [
  [runEntries, inList(runEntries.process, 'numbers')],
  [processLogs, inList(processLogs.process, 'numbers')],
  [agentTurns, inList(agentTurns.process, 'numbers')],
  [agentMessages, inList(agentMessages.process, 'numbers')],
  [commands, inList(commands.process, 'numbers')],
  [questions, inList(questions.process, 'numbers')],
  [rules, inList(rules.n, 'numbers')],
  [approvals, and(inList(approvals.n, 'numbers'), isNull(approvals.spentAt))],
  [messages, inList(messages.to, 'pids')],
  [userSignals, inList(userSignals.pid, 'pids')],
  [reservations, inList(reservations.pid, 'pids')],
  [registrations, inList(registrations.parent, 'pids')],
  [
    registrations,
    and(inList(registrations.parent, 'parents'), inList(registrations.id, 'ids'), inList(registrations.pid, 'pids')),
  ],
];

/** Tables of which a process has rows by its pid, with the column. */
const rowsByPid = [
  ['messages', 'to_pid'],
  ['user_signals', 'pid'],
  ['reservations', 'pid'],
  ['registrations', 'parent'],
] as const;

/** What tells that the process of a row is gone. */
const isLeftBehind: Record<LeftBehind, string> = {
  capabilities: 'NOT EXISTS (SELECT 1 FROM processes WHERE processes.pid = row.holder)',
  views: 'NOT EXISTS (SELECT 1 FROM processes WHERE processes.pid = row.pid)',
  registrations: 'NOT EXISTS (SELECT 1 FROM processes WHERE processes.pid = row.pid)',
  approvals: 'NOT EXISTS (SELECT 1 FROM processes WHERE processes.n = row.n)',
};

/** The row numbers by which they are read in pages. */
const numberOf: Record<LeftBehind, string> = {
  capabilities: 'rowid',
  views: 'n',
  registrations: 'rowid',
  approvals: 'rowid',
};

/** Whether nothing was derived from a capability. What others hold stays, and with it what it was derived from. */
const isLeaf = 'NOT EXISTS (SELECT 1 FROM capabilities AS below WHERE below.parent = capabilities.id)';

const limit = sql.placeholder('limit');
/** The hash of a payload that is stored by it. */
const storedHash = ({ hash, payload }: typeof overlays | typeof objectVersions) => ({
  hash: sql<string | null>`CASE WHEN ${payload} IS NULL THEN ${hash} END`,
});

const statements = prepareStatements((db: Db, raw: StatementConnection) => {
  const { inList, rowPlace } = raw.dialect;
  const place = sql.raw(rowPlace);
  const someOf = (table: SQLiteTable, condition: SQL | undefined) =>
    sql`${place} IN ${db.select({ place }).from(table).where(condition).limit(limit)}`;
  const deleteSome = (table: SQLiteTable, condition: SQL | undefined) =>
    db.delete(table).where(someOf(table, condition)).returning({ one: sql`1` }).prepare();
  const versionsOfViews = db
    .select({ n: objectVersions.n })
    .from(overlays)
    .innerJoin(
      objectVersions,
      and(eq(objectVersions.object, overlays.object), eq(objectVersions.branch, overlays.view)),
    )
    .where(inList(overlays.view, 'views'))
    .limit(limit);
  const pageOf = (kind: LeftBehind) =>
    raw.prepare<[{ after: number; limit: number }], { n: number; isLeft: number }>(
      `SELECT row.number AS n, ${isLeftBehind[kind]} AS "isLeft"
       FROM (SELECT ${numberOf[kind]} AS number, * FROM ${kind} WHERE ${numberOf[kind]} > @after
         ORDER BY ${numberOf[kind]} LIMIT @limit) AS row`,
    );
  return {
    ownedRows: ownedRows(raw).map(([table, condition]) => deleteSome(table, condition)),
    rowsByPid: rowsByPid.map(([table, column]) => raw.prepare<[string]>(`DELETE FROM ${table} WHERE ${column} = ?`)),
    deleteLeaves: deleteSome(capabilities, and(inList(capabilities.holder, 'holders'), sql.raw(isLeaf))),
    deleteHeld: raw.prepare<[string]>('DELETE FROM capabilities WHERE holder = ?'),
    deleteCapability: raw
      .prepare<[string], Pid>(`DELETE FROM capabilities WHERE id = ? AND ${isLeaf} RETURNING holder`)
      .pluck(),
    deleteVersions: db
      .delete(objectVersions)
      .where(inArray(objectVersions.n, versionsOfViews))
      .returning(storedHash(objectVersions))
      .prepare(),
    deleteOverlays: db
      .delete(overlays)
      .where(someOf(overlays, inList(overlays.view, 'views')))
      .returning(storedHash(overlays))
      .prepare(),
    deleteEntries: deleteSome(viewEntries, inList(viewEntries.view, 'views')),
    deleteViews: compileWrite(raw, db.delete(views).where(inList(views.n, 'views'))),
    pages: {
      capabilities: pageOf('capabilities'),
      views: pageOf('views'),
      registrations: pageOf('registrations'),
      approvals: pageOf('approvals'),
    },
    leftHolder: raw
      .prepare<[number], string>(
        `SELECT row.holder FROM capabilities AS row WHERE row.rowid = ? AND ${isLeftBehind.capabilities}`,
      )
      .pluck(),
    leftView: raw
      .prepare<[number], number>(`SELECT row.n FROM views AS row WHERE row.n = ? AND ${isLeftBehind.views}`)
      .pluck(),
    deleteRegistration: raw.prepare<[number]>(
      `DELETE FROM registrations AS row WHERE row.rowid = ? AND ${isLeftBehind.registrations}`,
    ),
    deleteApproval: raw.prepare<[number]>(
      `DELETE FROM approvals AS row WHERE row.rowid = ? AND ${isLeftBehind.approvals}`,
    ),
    pageInherited: raw.prepare<
      [{ resource: string; after: number; limit: number }],
      { id: string; child: string; resource: string; n: number; isGone: number }
    >(
      `SELECT id, granted_by AS child, resource, rowid AS n,
         resource = 'ns:process/' || granted_by || '/**'
         AND NOT EXISTS (SELECT 1 FROM processes WHERE processes.pid = granted_by) AS "isGone"
       FROM capabilities WHERE own = 0 AND resource >= 'ns:' AND resource < 'objecu'
         AND resource >= 'ns:process/' AND resource < 'ns:process0' AND (resource, rowid) > (@resource, @after)
       ORDER BY resource, rowid LIMIT @limit`,
    ),
    pageEnvironments: raw
      .prepare<[{ after: string; limit: number }], string>(
        'SELECT hash FROM environments WHERE hash > @after ORDER BY hash LIMIT @limit',
      )
      .pluck(),
    removeNodes: raw
      .prepare<[{ endedBefore: number; limit: number }], string>(
        `DELETE FROM nodes WHERE id IN (SELECT id FROM nodes WHERE ended_at < @endedBefore
           AND NOT EXISTS (SELECT 1 FROM processes WHERE processes.node = nodes.id) LIMIT @limit) RETURNING id`,
      )
      .pluck(),
  };
});

@injectable()
export class SqlPruneRepository implements PruneRepository {
  async clear(tx: WriteTx, rows: readonly ProcessRow[], limit: number): Promise<boolean> {
    if (rows.length === 0) return true;
    const pids = rows.map(({ pid }) => pid);
    let left = limit - (await this.deleteLeaves(tx, pids, limit));
    const viewsOfRows = rows.map(({ view }) => view);
    if (left > 0) left -= await this.deleteViews(tx, viewsOfRows, left);
    const lists = {
      numbers: JSON.stringify(rows.map(({ n }) => n)),
      pids: JSON.stringify(pids),
      parents: JSON.stringify(rows.map(({ bornUnder }) => bornUnder ?? '')),
      ids: JSON.stringify(rows.map(({ id, pid }) => id ?? pid)),
    };
    for (const statement of statements.rewrite(tx).ownedRows) {
      if (left <= 0) return false;
      left -= (await statement.all({ ...lists, limit: left })).length;
    }
    return left > 0;
  }

  async clearPid(tx: WriteTx, pid: Pid): Promise<void> {
    statements.rewrite(tx).deleteHeld.run(pid);
    for (const statement of statements.rewrite(tx).rowsByPid) statement.run(pid);
  }

  async pageLeftBehind(tx: ReadTx, kind: LeftBehind, after: number, limit: number): Promise<LeftBehindPage> {
    const page = await statements.read(tx).pages[kind].all({ after, limit });
    return { numbers: page.filter(({ isLeft }) => isLeft === 1).map(({ n }) => n), last: page.at(-1)?.n };
  }

  async removeLeftBehind(tx: WriteTx, kind: LeftBehind, rowNumber: number, limit: number): Promise<boolean> {
    const all = statements.rewrite(tx);
    if (kind === 'registrations') all.deleteRegistration.run(rowNumber);
    else if (kind === 'approvals') all.deleteApproval.run(rowNumber);
    else if (kind === 'views') {
      return (
        (await all.leftView.get(rowNumber)) === undefined || (await this.deleteViews(tx, [rowNumber], limit)) < limit
      );
    } else {
      const holder = await all.leftHolder.get(rowNumber);
      return holder === undefined || (await this.deleteLeaves(tx, [holder], limit)) < limit;
    }
    return true;
  }

  async pageInherited(
    tx: ReadTx,
    [resource, after]: InheritedCapability['place'],
    limit: number,
  ): Promise<readonly InheritedCapability[]> {
    const page = await statements.read(tx).pageInherited.all({ resource, after, limit });
    return page.map((row) => ({
      id: row.id,
      child: row.child,
      isChildGone: row.isGone === 1,
      place: [row.resource, row.n],
    }));
  }

  async removeCapability(tx: WriteTx, id: CapabilityId): Promise<Pid | undefined> {
    return statements.rewrite(tx).deleteCapability.get(id);
  }

  async pageEnvironments(tx: ReadTx, after: string, limit: number): Promise<readonly string[]> {
    return statements.read(tx).pageEnvironments.all({ after, limit });
  }

  async removeNodes(tx: WriteTx, endedBefore: number, limit: number): Promise<readonly NodeId[]> {
    return statements.rewrite(tx).removeNodes.all({ endedBefore, limit });
  }

  /** Deletes capabilities of these holders. Answers with their number, at most `limit`: then some may be left. */
  private async deleteLeaves(tx: WriteTx, pids: readonly Pid[], limit: number): Promise<number> {
    const { deleteLeaves } = statements.rewrite(tx);
    const holders = JSON.stringify(pids);
    let left = limit;
    // Capabilities that a process derived from its own form chains: each round deletes those that nothing was derived from.
    for (let found = 1; found > 0 && left > 0; left -= found) {
      found = (await deleteLeaves.all({ holders, limit: left })).length;
    }
    return limit - left;
  }

  /** Deletes views with their entries and versions. Answers with the number of rows, at most `limit`: then some may be left. */
  private async deleteViews(tx: WriteTx, numbers: readonly number[], limit: number): Promise<number> {
    const all = statements.rewrite(tx);
    const list = JSON.stringify(numbers);
    const versions = await all.deleteVersions.all({ views: list, limit });
    let left = limit - versions.length;
    const overlaid = left > 0 ? await all.deleteOverlays.all({ views: list, limit: left }) : [];
    left -= overlaid.length;
    dropUnusedPayloads(
      tx,
      [...versions, ...overlaid].map(({ hash }) => hash),
    );
    if (left <= 0) return limit;
    await keepNumbers(tx, 'view_entries');
    left -= (await all.deleteEntries.all({ views: list, limit: left })).length;
    if (left <= 0) return limit;
    await keepNumbers(tx, 'views');
    all.deleteViews.run({ views: list });
    return limit - left;
  }
}
