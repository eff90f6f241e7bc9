import type Database from 'better-sqlite3';
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
import type { Db } from '../sqlite/connection.js';
import { prepareStatements } from '../sqlite/sqlite-tx.js';
import { keepNumbers } from '../working-set/row-numbers.js';
import { dropUnusedPayloads } from './payload-store.js';

/** Tables whose rows belong to a process, with the column that says to which: its pid, or the number of its row. */
const ownedRows: readonly (readonly [table: string, condition: string])[] = [
  ['run_entries', 'process = @n'],
  ['process_logs', 'process = @n'],
  ['commands', 'process = @n'],
  ['rules', 'n = @n'],
  ['approvals', 'n = @n AND spent_at IS NULL'],
  ['messages', 'to_pid = @pid'],
  ['user_signals', 'pid = @pid'],
  ['reservations', 'pid = @pid'],
  ['registrations', 'parent = @pid'],
  ['registrations', 'parent = @bornUnder AND id = @id AND pid = @pid'],
];

const rowsByPid = ownedRows.filter(([, condition]) => condition.endsWith('= @pid') && !condition.includes(' AND '));

/** What tells that the process of a row is gone. */
const isLeftBehind: Record<LeftBehind, string> = {
  capabilities: 'NOT EXISTS (SELECT 1 FROM processes WHERE processes.pid = row.holder)',
  views: 'NOT EXISTS (SELECT 1 FROM processes WHERE processes.pid = row.pid)',
  registrations: 'NOT EXISTS (SELECT 1 FROM processes WHERE processes.pid = row.pid)',
  approvals: 'NOT EXISTS (SELECT 1 FROM processes WHERE processes.n = row.n)',
};

/** Whether nothing was derived from a capability. What others hold stays, and with it what it was derived from. */
const isLeaf = 'NOT EXISTS (SELECT 1 FROM capabilities AS below WHERE below.parent = capabilities.id)';

const statements = prepareStatements((_db: Db, raw: Database.Database) => {
  const deleteSome = (table: string, condition: string) =>
    raw.prepare<[object]>(
      `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE ${condition} LIMIT @limit)`,
    );
  const pageOf = (kind: LeftBehind) =>
    raw.prepare<[{ after: number; limit: number }], { n: number; isLeft: number }>(
      `SELECT row.number AS n, ${isLeftBehind[kind]} AS isLeft
       FROM (SELECT rowid AS number, * FROM ${kind} WHERE rowid > @after ORDER BY rowid LIMIT @limit) AS row`,
    );
  return {
    ownedRows: ownedRows.map(([table, condition]) => deleteSome(table, condition)),
    rowsByPid: rowsByPid.map(([table, condition]) => raw.prepare<[object]>(`DELETE FROM ${table} WHERE ${condition}`)),
    deleteLeaves: deleteSome('capabilities', `holder = @holder AND ${isLeaf}`),
    deleteHeld: raw.prepare<[string]>('DELETE FROM capabilities WHERE holder = ?'),
    deleteCapability: raw
      .prepare<[string], Pid>(`DELETE FROM capabilities WHERE id = ? AND ${isLeaf} RETURNING holder`)
      .pluck(),
    overlaidObjects: raw
      .prepare<[{ view: number; limit: number }], string>('SELECT object FROM overlays WHERE view = @view LIMIT @limit')
      .pluck(),
    deleteVersions: raw
      .prepare<[{ object: string; view: number; limit: number }], string | null>(
        `DELETE FROM object_versions WHERE n IN (SELECT n FROM object_versions WHERE object = @object AND branch = @view
           LIMIT @limit) RETURNING CASE WHEN payload IS NULL THEN hash END`,
      )
      .pluck(),
    deleteOverlay: raw
      .prepare<[{ object: string; view: number }], string | null>(
        'DELETE FROM overlays WHERE view = @view AND object = @object RETURNING CASE WHEN payload IS NULL THEN hash END',
      )
      .pluck(),
    deleteEntries: deleteSome('view_entries', 'view = @view'),
    deleteView: raw.prepare<[number]>('DELETE FROM views WHERE n = ?'),
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
         AND NOT EXISTS (SELECT 1 FROM processes WHERE processes.pid = granted_by) AS isGone
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
export class SqlitePruneRepository implements PruneRepository {
  async clear(tx: WriteTx, row: ProcessRow, limit: number): Promise<boolean> {
    const { n, pid, bornUnder, id } = row;
    let left = limit - this.deleteLeaves(tx, pid, limit);
    if (left > 0) left -= this.deleteView(tx, row.view, left);
    for (const statement of statements.rewrite(tx).ownedRows) {
      if (left <= 0) return false;
      left -= statement.run({ n, pid, bornUnder: bornUnder ?? '', id: id ?? pid, limit: left }).changes;
    }
    return left > 0;
  }

  async clearPid(tx: WriteTx, pid: Pid): Promise<void> {
    statements.rewrite(tx).deleteHeld.run(pid);
    for (const statement of statements.rewrite(tx).rowsByPid) statement.run({ pid });
  }

  async pageLeftBehind(tx: ReadTx, kind: LeftBehind, after: number, limit: number): Promise<LeftBehindPage> {
    const page = statements.read(tx).pages[kind].all({ after, limit });
    return { numbers: page.filter(({ isLeft }) => isLeft === 1).map(({ n }) => n), last: page.at(-1)?.n };
  }

  async removeLeftBehind(tx: WriteTx, kind: LeftBehind, rowNumber: number, limit: number): Promise<boolean> {
    const all = statements.rewrite(tx);
    if (kind === 'registrations') all.deleteRegistration.run(rowNumber);
    else if (kind === 'approvals') all.deleteApproval.run(rowNumber);
    else if (kind === 'views') {
      return all.leftView.get(rowNumber) === undefined || this.deleteView(tx, rowNumber, limit) < limit;
    } else {
      const holder = all.leftHolder.get(rowNumber);
      return holder === undefined || this.deleteLeaves(tx, holder, limit) < limit;
    }
    return true;
  }

  async pageInherited(
    tx: ReadTx,
    [resource, after]: InheritedCapability['place'],
    limit: number,
  ): Promise<readonly InheritedCapability[]> {
    const page = statements.read(tx).pageInherited.all({ resource, after, limit });
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

  /** Deletes capabilities of a holder. Answers with their number, at most `limit`: then some may be left. */
  private deleteLeaves(tx: WriteTx, holder: Pid, limit: number): number {
    const { deleteLeaves } = statements.rewrite(tx);
    let left = limit;
    // Capabilities that a process derived from its own form chains: each round deletes those that nothing was derived from.
    for (let found = 1; found > 0 && left > 0; left -= found) {
      found = deleteLeaves.run({ holder, limit: left }).changes;
    }
    return limit - left;
  }

  /** Deletes a view with its entries and versions. Answers with the number of rows, at most `limit`: then some may be left. */
  private deleteView(tx: WriteTx, view: number, limit: number): number {
    const all = statements.rewrite(tx);
    const hashes: (string | null)[] = [];
    let left = limit;
    for (const object of all.overlaidObjects.all({ view, limit })) {
      if (left <= 0) break;
      const versions = all.deleteVersions.all({ object, view, limit: left });
      hashes.push(...versions);
      left -= versions.length;
      if (left <= 0) break;
      hashes.push(...all.deleteOverlay.all({ object, view }));
      left--;
    }
    dropUnusedPayloads(tx, hashes);
    if (left <= 0) return limit;
    keepNumbers(tx, 'view_entries');
    left -= all.deleteEntries.run({ view, limit: left }).changes;
    if (left <= 0) return limit;
    keepNumbers(tx, 'views');
    all.deleteView.run(view);
    return limit - left;
  }
}
