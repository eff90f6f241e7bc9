import type Database from 'better-sqlite3';
import { and, eq, gt, lte, max, sql } from 'drizzle-orm';
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
import type { Db } from '../sqlite/connection.js';
import { done, prepareStatements } from '../sqlite/sqlite-tx.js';
import { allColumns, compileWrite, insertColumns, updateColumns } from '../sqlite/write-statements.js';
import { takeNumber } from '../working-set/row-numbers.js';
import { viewEntryRows, viewRows } from '../working-set/tables.js';
import { loadPayload, storePayload } from './payload-store.js';
import { toVersion } from './sqlite-object-repository.js';

/** Greater than every row number. */
const afterAllRows = Number.MAX_SAFE_INTEGER;

const inView = eq(viewEntries.view, sql.placeholder('view'));
const notLater = lte(viewEntries.n, sql.placeholder('asOf'));
const ofOverlay = and(eq(overlays.view, sql.placeholder('view')), eq(overlays.object, sql.placeholder('object')));
const ofBranch = and(
  eq(objectVersions.object, sql.placeholder('object')),
  eq(objectVersions.branch, sql.placeholder('view')),
);

const statements = prepareStatements((db: Db, raw: Database.Database) => ({
  lastEntry: db
    .select({ n: max(viewEntries.n) })
    .from(viewEntries)
    .prepare(),
  lastVersion: db
    .select({ n: max(objectVersions.n) })
    .from(objectVersions)
    .prepare(),
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
  archive: compileWrite(raw, db.insert(objectVersions).values(insertColumns(objectVersions))),
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
export class SqliteViewRepository implements ViewRepository {
  async find(tx: ReadTx, n: number): Promise<NumberedView | undefined> {
    return viewRows.get(tx, n);
  }

  async insert(tx: WriteTx, view: ViewRecord): Promise<number> {
    const n = takeNumber(tx, 'views');
    viewRows.insert(tx, { ...view, n });
    viewEntryRows.knowEmpty(tx, 'ofView', n);
    return n;
  }

  setState(tx: WriteTx, n: number, state: ViewState): Promise<void> {
    const view = viewRows.get(tx, n);
    if (view !== undefined) viewRows.put(tx, { ...view, state });
    return done;
  }

  async currentSnapshot(tx: ReadTx): Promise<Snapshot> {
    const { lastEntry, lastVersion } = statements.read(tx);
    return { entries: lastEntry.get()?.n ?? 0, versions: lastVersion.get()?.n ?? 0 };
  }

  addEntry(tx: WriteTx, view: number, entry: ViewEntry): Promise<void> {
    insertEntry(tx, { view, ...entry, isThere: true });
    return done;
  }

  removeObject(tx: WriteTx, view: number, object: ObjectId): Promise<void> {
    insertEntry(tx, { view, object, ...noEntry, isThere: false });
    return done;
  }

  restoreObject(tx: WriteTx, view: number, object: ObjectId): Promise<void> {
    insertEntry(tx, { view, object, ...noEntry, isThere: true });
    return done;
  }

  async entryState(tx: ReadTx, view: number, object: ObjectId, asOf = afterAllRows): Promise<EntryState> {
    const known = viewEntryRows.list(tx, 'ofView', view);
    const found =
      known === undefined
        ? statements.read(tx).entryState.get({ view, object, asOf })
        : newestEntry(known.filter((entry) => entry.object === object && entry.n <= asOf));
    return found && toEntryState(found);
  }

  async entryStates(
    tx: ReadTx,
    view: number,
    { asOf = afterAllRows, after, limit }: { asOf?: number | undefined; after: ObjectId; limit: number },
  ): Promise<readonly { object: ObjectId; entryState: EntryState }[]> {
    const rows = statements.read(tx).entryStates.all({ view, asOf, after, limit });
    return rows.map((row) => ({ object: row.object, entryState: toEntryState(row) }));
  }

  async overlay(tx: ReadTx, view: number, object: ObjectId, asOf = afterAllRows): Promise<Overlay | undefined> {
    const current = statements.read(tx).overlay.get({ view, object });
    if (current === undefined) return undefined;
    const earlier = asOf === afterAllRows ? undefined : statements.read(tx).overlayAsOf.get({ view, object, asOf });
    if (earlier === undefined) return { ...current, payload: loadPayload(tx, current) };
    const { baseHash, baseVersion } = current;
    return earlier.version === 0 ? undefined : { ...toVersion(tx, earlier), object, baseHash, baseVersion };
  }

  async versions(tx: ReadTx, view: number, object: ObjectId, asOf = afterAllRows): Promise<readonly Version[]> {
    const last = await this.overlay(tx, view, object, asOf);
    if (last === undefined) return [];
    const rows = statements.read(tx).earlier.all({ view, object, asOf });
    return [...rows.map((row) => toVersion(tx, row)), last];
  }

  writeOverlay(
    tx: WriteTx,
    view: number,
    before: Overlay | undefined,
    next: NewVersion & Pick<Overlay, 'object' | 'baseHash' | 'baseVersion'>,
  ): Promise<void> {
    const all = statements.write(tx);
    all.archive.run({
      ...(before === undefined ? absentVersion(next) : archiveColumns(tx, before)),
      object: next.object,
      branch: view,
    });
    const row = { ...next, view, payload: storePayload(tx, next) };
    (before === undefined ? all.insertOverlay : all.updateOverlay).run(row);
    return done;
  }

  async overlays(tx: ReadTx, view: number): Promise<readonly Overlay[]> {
    const rows = statements.read(tx).overlays.all({ view });
    return rows.map((row) => ({ ...row, payload: loadPayload(tx, row) }));
  }
}

function insertEntry(tx: WriteTx, entry: Omit<typeof viewEntries.$inferSelect, 'n'>): void {
  viewEntryRows.insert(tx, { ...entry, n: takeNumber(tx, 'view_entries') });
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
