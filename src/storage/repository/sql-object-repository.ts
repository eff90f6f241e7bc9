import { and, eq, getTableColumns, gt, isNull, lte, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { ObjectId } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { Link, NewObject, NewVersion, ObjectRecord, Version } from '../../memory/object/object.js';
import type {
  CountedContent,
  LinkScan,
  ObjectRepository,
  ObjectScan,
  ScannedObjects,
} from '../../memory/object/object-repository.js';
import { links, objects, objectVersions, overlays } from '../schema/memory.js';
import { allColumns, compileWrite, updateColumns } from '../statements/compiled-writes.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';
import { takeNumber } from '../working-set/row-numbers.js';
import { objectRows } from '../working-set/tables.js';
import { loadPayload, storePayload } from './payload-store.js';

const ofObject = and(eq(objectVersions.object, sql.placeholder('object')), eq(objectVersions.branch, 0));
/** The requested relation, or any when none is requested. */
const ofRelation = sql`${links.relation} = coalesce(${sql.placeholder('relation')}, ${links.relation})`;
const limit = sql.placeholder('limit');
const tokensOf = <T extends typeof objectVersions | typeof overlays>(table: T) =>
  updateColumns<T, 'tokens' | 'isCounted'>(table, ['tokens', 'isCounted']);
const { payload: _payload, ...columnsWithoutPayload } = getTableColumns(objects);

const statements = prepareStatements((db: Db, raw: StatementConnection) => ({
  findByName: db
    .select({ id: objects.id })
    .from(objects)
    .where(
      and(
        eq(objects.namespace, sql.placeholder('namespace')),
        eq(objects.name, sql.placeholder('name')),
        isNull(objects.deletedAt),
      ),
    )
    .prepare(),
  pageIds: db
    .select({ id: objects.id })
    .from(objects)
    .where(gt(objects.id, sql.placeholder('after')))
    .orderBy(objects.id)
    .limit(limit)
    .prepare(),
  scan: db
    .select(columnsWithoutPayload)
    .from(objects)
    .where(
      and(
        gt(objects.id, sql.placeholder('after')),
        lte(objects.id, sql.placeholder('last')),
        sql`${objects.createdBy} = coalesce(${sql.placeholder('createdBy')}, ${objects.createdBy})`,
        sql`${objects.type} = coalesce(${sql.placeholder('type')}, ${objects.type})`,
        sql`${objects.name} IS NOT DISTINCT FROM coalesce(${sql.placeholder('name')}, ${objects.name})`,
      ),
    )
    .orderBy(objects.id)
    .prepare(),
  setVersionTokens: compileWrite(
    raw,
    db
      .update(objectVersions)
      .set(tokensOf(objectVersions))
      .where(and(eq(objectVersions.object, sql.placeholder('id')), eq(objectVersions.hash, sql.placeholder('hash')))),
  ),
  setOverlayTokens: compileWrite(
    raw,
    db
      .update(overlays)
      .set(tokensOf(overlays))
      .where(
        and(
          eq(overlays.view, sql.placeholder('view')),
          eq(overlays.object, sql.placeholder('id')),
          eq(overlays.hash, sql.placeholder('hash')),
        ),
      ),
  ),
  archive: compileWrite(raw, db.insert(objectVersions).values(allColumns(objectVersions))),
  history: db
    .select()
    .from(objectVersions)
    .where(and(ofObject, lte(objectVersions.n, sql.placeholder('mark'))))
    .orderBy(objectVersions.n)
    .prepare(),
  findVersionAsOf: db
    .select()
    .from(objectVersions)
    .where(and(ofObject, gt(objectVersions.n, sql.placeholder('mark'))))
    .orderBy(objectVersions.n)
    .limit(1)
    .prepare(),
  insertLink: db
    .insert(links)
    .values(allColumns(links))
    .onConflictDoNothing()
    .returning({ source: links.source })
    .prepare(),
  linksOut: db
    .select()
    .from(links)
    .where(and(eq(links.source, sql.placeholder('object')), ofRelation))
    .orderBy(links.relation, links.target)
    .limit(limit)
    .prepare(),
  linksIn: db
    .select()
    .from(links)
    .where(and(eq(links.target, sql.placeholder('object')), ofRelation))
    .orderBy(links.relation, links.source)
    .limit(limit)
    .prepare(),
}));

@injectable()
export class SqlObjectRepository implements ObjectRepository {
  async find(tx: ReadTx, id: ObjectId): Promise<ObjectRecord | undefined> {
    const found = await objectRows.get(tx, id);
    if (found === undefined) return undefined;
    return { ...withMaker(found), payload: await loadPayload(tx, found) };
  }

  async load(tx: WriteTx, ids: readonly ObjectId[]): Promise<void> {
    await objectRows.getAll(tx, ids);
  }

  async scan(tx: ReadTx, scan: ObjectScan, after: ObjectId, limit: number): Promise<ScannedObjects> {
    const page = await statements.read(tx).pageIds.all({ after, limit });
    const last = page.at(-1)?.id;
    if (last === undefined) return { found: [], last };
    return {
      found: (await statements.read(tx).scan.all({ ...scan, after, last })).map(withMaker),
      last,
    };
  }

  async findByName(tx: ReadTx, namespace: string, name: string): Promise<ObjectId | undefined> {
    return (await statements.read(tx).findByName.get({ namespace, name }))?.id;
  }

  async insert(tx: WriteTx, object: NewObject): Promise<void> {
    objectRows.insert(tx, { ...object, payload: storePayload(tx, object), updatedBy: null, updatedAt: null });
  }

  async update(tx: WriteTx, before: ObjectRecord, next: NewVersion): Promise<void> {
    await this.archive(tx, before);
    await this.write(tx, before.id, next, storePayload(tx, next));
  }

  /** The payload is stored in the row whatever its size: one under a hash would stay there until the next sweep. */
  async replace(tx: WriteTx, id: ObjectId, next: NewVersion): Promise<void> {
    await this.write(tx, id, next, next.payload);
  }

  async move(tx: WriteTx, id: ObjectId, to: { namespace: string; name: string | null }): Promise<void> {
    await this.change(tx, id, to);
  }

  async delete(tx: WriteTx, id: ObjectId, at: number): Promise<void> {
    await this.change(tx, id, { deletedAt: at });
  }

  async setTokens(tx: WriteTx, { id, hash, view }: CountedContent, tokens: number): Promise<void> {
    const all = statements.write(tx);
    const values = { id, hash, tokens, isCounted: true };
    if (view !== null) all.setOverlayTokens.run({ ...values, view });
    all.setVersionTokens.run(values);
    if (view === null && (await objectRows.get(tx, id))?.hash === hash)
      await this.change(tx, id, { tokens, isCounted: true });
  }

  async history(tx: ReadTx, object: ObjectRecord, mark = Number.MAX_SAFE_INTEGER): Promise<readonly Version[]> {
    const earlier = await statements.read(tx).history.all({ object: object.id, mark });
    const versions: Version[] = [];
    for (const row of earlier) versions.push(await toVersion(tx, row));
    return [...versions, await this.findVersionAsOf(tx, object, mark)];
  }

  async findVersionAsOf(tx: ReadTx, object: ObjectRecord, mark: number): Promise<Version> {
    const row = await statements.read(tx).findVersionAsOf.get({ object: object.id, mark });
    return row === undefined ? object : toVersion(tx, row);
  }

  async insertLink(tx: WriteTx, link: Link): Promise<boolean> {
    return (await statements.write(tx).insertLink.all({ ...link })).length === 1;
  }

  async links(tx: ReadTx, object: ObjectId, scan: LinkScan): Promise<readonly Link[]> {
    const { linksOut, linksIn } = statements.read(tx);
    const { direction, relation = null, limit } = scan;
    return (direction === 'out' ? linksOut : linksIn).all({ object, relation, limit });
  }

  private async write(tx: WriteTx, id: ObjectId, next: NewVersion, payload: string | null): Promise<void> {
    const { version, hash, tokens, isCounted, sources, madeBy: updatedBy, madeAt: updatedAt } = next;
    await this.change(tx, id, { version, hash, payload, tokens, isCounted, sources, updatedBy, updatedAt });
  }

  private async change(tx: WriteTx, id: ObjectId, changes: Partial<ObjectRow>): Promise<void> {
    const row = await objectRows.get(tx, id);
    if (row !== undefined) await objectRows.put(tx, { ...row, ...changes });
  }

  private async archive(tx: WriteTx, { id: object, version, hash, payload, ...made }: ObjectRecord): Promise<void> {
    const { tokens, isCounted, sources, madeBy, madeAt } = made;
    const stored = storePayload(tx, { hash, payload: JSON.stringify(payload) });
    const n = await takeNumber(tx, 'object_versions');
    const row = { n, object, branch: 0, version, hash, payload: stored, tokens, isCounted, sources, madeBy, madeAt };
    statements.write(tx).archive.run(row);
  }
}

type ObjectRow = typeof objects.$inferSelect;

/** The author and the time of the newest version, which are those of the object where it has only one. */
function withMaker<Row extends Omit<ObjectRow, 'payload'>>(found: Row) {
  const { updatedBy, updatedAt, ...row } = found;
  return { ...row, madeBy: updatedBy ?? row.createdBy, madeAt: updatedAt ?? row.createdAt };
}

/** Converts a row of an earlier version. */
export async function toVersion(tx: ReadTx, row: typeof objectVersions.$inferSelect): Promise<Version> {
  const { version, hash, payload, tokens, isCounted, sources, madeBy, madeAt } = row;
  const stored = await loadPayload(tx, { hash: hash ?? '', payload });
  return { version, hash: hash ?? '', payload: stored, tokens, isCounted, sources, madeBy, madeAt };
}
