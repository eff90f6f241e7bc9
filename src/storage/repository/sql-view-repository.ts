import { and, eq, gt, lte, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { ObjectId } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type {
  EntryState,
  NewVersion,
  NumberedView,
  Overlay,
  Snapshot,
  Version,
  ViewEntry,
  ViewRecord,
  ViewState,
} from '../../memory/object/object.js';
import type { ViewRepository } from '../../memory/view/view-repository.js';
import { objectVersions, overlays, viewEntries } from '../schema/memory.js';
import { allColumns, compileWrite, updateColumns } from '../statements/compiled-writes.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';
import { highestNumber, takeNumber } from '../working-set/row-numbers.js';
import { viewEntryRows, viewRows } from '../working-set/tables.js';
import { loadPayload, storePayload } from './payload-store.js';
import { toVersion } from './sql-object-repository.js';

/** Greater than every row number. */
const afterAllRows = Number.MAX_SAFE_INTEGER;

const inView = eq(viewEntries.view, sql.placeholder('view'));
const notLater = lte(viewEntries.n, sql.placeholder('asOf'));
const ofOverlay = and(eq(overlays.view, sql.placeholder('view')), eq(overlays.object, sql.placeholder('object')));
const ofBranch = and(
  eq(objectVersions.object, sql.placeholder('object')),
  eq(objectVersions.branch, sql.placeholder('view')),
);

const statements = prepareStatements((db: Db, raw: StatementConnection) => ({
  entryState: db
    .select()
    .from(viewEntries)
    .where(and(inView, eq(viewEntries.object, sql.placeholder('object')), notLater))
    .orderBy(sql`${viewEntries.n} DESC`)
    .limit(1)
    .prepare(),
  entryStates: db
    .select()
    .from(viewEntries)
    .where(
      and(
        inView,
        gt(viewEntries.object, sql.placeholder('after')),
        sql`${viewEntries.n} = (SELECT max(later.n) FROM view_entries AS later WHERE later.view = ${viewEntries.view}
          AND later.object = ${viewEntries.object} AND later.n <= ${sql.placeholder('asOf')})`,
      ),
    )
    .orderBy(viewEntries.object)
    .limit(sql.placeholder('limit'))
    .prepare(),
  overlay: db.select().from(overlays).where(ofOverlay).prepare(),
  overlayAsOf: db
    .select()
    .from(objectVersions)
    .where(and(ofBranch, gt(objectVersions.n, sql.placeholder('asOf'))))
    .orderBy(objectVersions.n)
    .limit(1)
    .prepare(),
  overlays: db
    .select()
    .from(overlays)
    .where(eq(overlays.view, sql.placeholder('view')))
    .orderBy(overlays.object)
    .prepare(),
  archive: compileWrite(raw, db.insert(objectVersions).values(allColumns(objectVersions))),
  insertOverlay: compileWrite(raw, db.insert(overlays).values(allColumns(overlays))),
  updateOverlay: compileWrite(
    raw,
    db
      .update(overlays)
      .set(
        updateColumns(overlays, ['version', 'hash', 'payload', 'tokens', 'isCounted', 'sources', 'madeBy', 'madeAt']),
      )
      .where(ofOverlay),
  ),
  earlier: db
    .select()
    .from(objectVersions)
    .where(and(ofBranch, gt(objectVersions.version, 0), lte(objectVersions.n, sql.placeholder('asOf'))))
    .orderBy(objectVersions.n)
    .prepare(),
}));

@injectable()
export class SqlViewRepository implements ViewRepository {
  async find(tx: ReadTx, n: number): Promise<NumberedView | undefined> {
    return viewRows.get(tx, n);
  }

  async insert(tx: WriteTx, view: ViewRecord): Promise<number> {
    const n = await takeNumber(tx, 'views');
    viewRows.insert(tx, { ...view, n });
    viewEntryRows.knowEmpty(tx, 'ofView', n);
    return n;
  }

  async setState(tx: WriteTx, n: number, state: ViewState): Promise<void> {
    const view = await viewRows.get(tx, n);
    if (view !== undefined) await viewRows.put(tx, { ...view, state });
  }

  async currentSnapshot(tx: ReadTx): Promise<Snapshot> {
    return { entries: await highestNumber(tx, 'view_entries'), versions: await highestNumber(tx, 'object_versions') };
  }

  async addEntry(tx: WriteTx, view: number, entry: ViewEntry): Promise<void> {
    await insertEntry(tx, { view, ...entry, isThere: true });
  }

  async removeObject(tx: WriteTx, view: number, object: ObjectId): Promise<void> {
    await insertEntry(tx, { view, object, ...noEntry, isThere: false });
  }

  async restoreObject(tx: WriteTx, view: number, object: ObjectId): Promise<void> {
    await insertEntry(tx, { view, object, ...noEntry, isThere: true });
  }

  async entryState(tx: ReadTx, view: number, object: ObjectId, asOf = afterAllRows): Promise<EntryState> {
    const known = await viewEntryRows.list(tx, 'ofView', view);
    const found =
      known === undefined
        ? await statements.read(tx).entryState.get({ view, object, asOf })
        : newestEntry(known.filter((entry) => entry.object === object && entry.n <= asOf));
    return found && toEntryState(found);
  }

  async entryStates(
    tx: ReadTx,
    view: number,
    { asOf = afterAllRows, after, limit }: { asOf?: number | undefined; after: ObjectId; limit: number },
  ): Promise<readonly { object: ObjectId; entryState: EntryState }[]> {
    const rows = await statements.read(tx).entryStates.all({ view, asOf, after, limit });
    return rows.map((row) => ({ object: row.object, entryState: toEntryState(row) }));
  }

  async overlay(tx: ReadTx, view: number, object: ObjectId, asOf = afterAllRows): Promise<Overlay | undefined> {
    const current = await statements.read(tx).overlay.get({ view, object });
    if (current === undefined) return undefined;
    const earlier =
      asOf === afterAllRows ? undefined : await statements.read(tx).overlayAsOf.get({ view, object, asOf });
    if (earlier === undefined) return { ...current, payload: await loadPayload(tx, current) };
    const { baseHash, baseVersion } = current;
    return earlier.version === 0 ? undefined : { ...(await toVersion(tx, earlier)), object, baseHash, baseVersion };
  }

  async versions(tx: ReadTx, view: number, object: ObjectId, asOf = afterAllRows): Promise<readonly Version[]> {
    const last = await this.overlay(tx, view, object, asOf);
    if (last === undefined) return [];
    const rows = await statements.read(tx).earlier.all({ view, object, asOf });
    const versions: Version[] = [];
    for (const row of rows) versions.push(await toVersion(tx, row));
    return [...versions, last];
  }

  async writeOverlay(
    tx: WriteTx,
    view: number,
    before: Overlay | undefined,
    next: NewVersion & Pick<Overlay, 'object' | 'baseHash' | 'baseVersion'>,
  ): Promise<void> {
    const all = statements.write(tx);
    all.archive.run({
      n: await takeNumber(tx, 'object_versions'),
      ...(before === undefined ? absentVersion(next) : archiveColumns(tx, before)),
      object: next.object,
      branch: view,
    });
    const row = { ...next, view, payload: storePayload(tx, next) };
    (before === undefined ? all.insertOverlay : all.updateOverlay).run(row);
  }

  async overlays(tx: ReadTx, view: number): Promise<readonly Overlay[]> {
    const rows = await statements.read(tx).overlays.all({ view });
    const all: Overlay[] = [];
    for (const row of rows) all.push({ ...row, payload: await loadPayload(tx, row) });
    return all;
  }
}

async function insertEntry(tx: WriteTx, entry: Omit<typeof viewEntries.$inferSelect, 'n'>): Promise<void> {
  viewEntryRows.insert(tx, { ...entry, n: await takeNumber(tx, 'view_entries') });
}

function newestEntry<Entry extends { readonly n: number }>(entries: readonly Entry[]): Entry | undefined {
  return entries.reduce<Entry | undefined>(
    (newest, entry) => (newest && newest.n > entry.n ? newest : entry),
    undefined,
  );
}

/** The capability and rights of a row that adds no object. */
const noEntry = { capability: '', rights: 0 };

function toEntryState(row: typeof viewEntries.$inferSelect): EntryState {
  if (!row.isThere) return 'out';
  const { object, capability, rights } = row;
  return capability === noEntry.capability ? undefined : { object, capability, rights };
}

/** The row for a branch that had no version of its own before. */
function absentVersion({ madeBy, madeAt }: NewVersion) {
  return { version: 0, hash: null, payload: null, tokens: 0, isCounted: true, sources: null, madeBy, madeAt };
}

function archiveColumns(tx: WriteTx, { version, hash, payload, tokens, isCounted, sources, madeBy, madeAt }: Overlay) {
  const stored = storePayload(tx, { hash, payload: JSON.stringify(payload) });
  return { version, hash, payload: stored, tokens, isCounted, sources, madeBy, madeAt };
}
