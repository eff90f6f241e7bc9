import { gt, sql, sum } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { ObjectId } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import type { ReclaimBatch, Reclaimed, ReclaimRepository } from '../../memory/object/reclaim-repository.js';
import { objects, objectVersions, overlays, payloads } from '../schema/memory.js';
import { compileWrite } from '../statements/compiled-writes.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';

/** The process in whose own namespace, or below it, an object lies: the part between the first two slashes. */
const owner = sql`substr(${objects.namespace}, 9, instr(substr(${objects.namespace}, 9) || '/', '/') - 1)`;

/**
 * Whether an object tells what a process was asked, did or said: a goal or the transcript in its own namespace, or its goal or
 * result in whatever namespace. The host can read it until the process is pruned.
 */
const isTold = sql`(${objects.id} IN (SELECT goal FROM processes UNION ALL SELECT result FROM processes WHERE result IS NOT NULL)
  OR ((${objects.type} = 'goal' OR ${objects.name} IS NOT DISTINCT FROM 'transcript') AND EXISTS (SELECT 1 FROM processes AS teller
    WHERE teller.pid = ${owner} AND ${objects.namespace} = 'process/' || teller.pid)))`;

/**
 * Whether an object belongs to a process that was pruned, or that has ended and whose parent has ended or has merged
 * it. Objects of roots belong to the host and are kept.
 */
const isLeftBehind = sql`${objects.namespace} LIKE 'process/%'
  AND NOT EXISTS (SELECT 1 FROM processes AS maker
    LEFT JOIN processes AS parent ON parent.pid = maker.parent
    LEFT JOIN views AS view ON view.n = maker.view
    WHERE maker.pid = ${owner} AND (maker.exited_at IS NULL OR maker.parent IS NULL
    OR (parent.exited_at IS NULL AND view.state IS NULL)))
  AND NOT ${isTold}`;

/**
 * The resources of usable capabilities of live holders on objects and private namespaces. A capability with a wildcard
 * after a slash stands for every resource with the text before it as a prefix.
 */
const works = (capability: string, holder: string) =>
  sql.raw(`${capability}.status = 'live' AND (${capability}.uses IS NULL OR ${capability}.uses > 0)
    AND (${capability}.own = 1 OR ${capability}.generation >= ${holder}.authority_since) AND ${holder}.exited_at IS NULL`);
const inTime = (capability: string) =>
  sql`(${sql.raw(`${capability}.expires_at`)} IS NULL OR ${sql.raw(`${capability}.expires_at`)} > ${sql.placeholder('at')})`;
const reach = sql`SELECT CASE instr(held.resource, '/*') WHEN 0 THEN held.resource
  ELSE substr(held.resource, 1, instr(held.resource, '/*')) END AS name FROM processes AS holder JOIN capabilities AS held ON held.holder = holder.pid
  WHERE ${works('held', 'holder')} AND ${inTime('held')}
  AND ((held.resource >= 'object:' AND held.resource < 'object;')
    OR (held.resource >= 'ns:process/' AND held.resource < 'ns:process0'))
  AND NOT EXISTS (
    WITH RECURSIVE above(id) AS (SELECT held.parent UNION
      SELECT next.parent FROM capabilities AS next JOIN above ON next.id = above.id)
    SELECT 1 FROM above JOIN capabilities AS one ON one.id = above.id
    LEFT JOIN processes AS giver ON giver.pid = one.holder
    WHERE giver.pid IS NULL OR NOT (${works('one', 'giver')} AND ${inTime('one')}))`;
/** Whether one of these resources names the object by id, by its place in its namespace, or by a namespace above it. */
const isReached = sql`('object:' || ${objects.id} IN (SELECT name FROM reach)
  OR 'ns:' || ${objects.namespace} || '/' || ${objects.id} IN (SELECT name FROM reach)
  OR EXISTS (WITH RECURSIVE up(place) AS (SELECT 'ns:' || ${objects.namespace} || '/' UNION ALL
      SELECT rtrim(rtrim(place, '/'), replace(place, '/', '')) FROM up WHERE place <> '')
    SELECT 1 FROM up WHERE place IN (SELECT name FROM reach))
  OR EXISTS (SELECT 1 FROM reach WHERE name IN ('object:*', 'object:**')))`;
const hasPayload = sql`${objects.hash} <> '' AND (${objects.payload} IS NULL OR ${objects.payload} <> 'null')`;

/** Views of live processes, the views that they were forked from, and views that a live parent can still merge. */
const neededViews = sql`WITH RECURSIVE needed(n) AS (SELECT view FROM processes WHERE exited_at IS NULL
    UNION SELECT views.base FROM views JOIN needed ON views.n = needed.n WHERE views.base IS NOT NULL)
  SELECT n FROM needed UNION SELECT view.n FROM processes AS maker JOIN views AS view ON view.n = maker.view
  JOIN processes AS parent ON parent.pid = maker.parent WHERE parent.exited_at IS NULL AND view.state IS NULL
  AND (view.mode <> 'ephemeral' OR maker.status = 'exited')`;

const isNotNeeded = sql`${overlays.view} NOT IN (${neededViews})`;
const isDropped = sql`(${objectVersions.branch} <> 0 AND ${objectVersions.branch} NOT IN (${neededViews}))
  OR (${objectVersions.branch} = 0 AND ${objectVersions.object} IN (SELECT id FROM objects WHERE deleted_at IS NOT NULL))`;

/** The bytes of a version as they were charged to its maker. */
const bytesOf = (table: typeof objects | typeof objectVersions | typeof overlays) =>
  sql<number>`CASE ${table.payload} WHEN '{}' THEN 0 ELSE coalesce(octet_length(${table.payload}),
    (SELECT octet_length(stored.payload) FROM payloads AS stored WHERE stored.hash = ${table}.hash), 0) END`;

const statements = prepareStatements((db: Db, raw: StatementConnection) => ({
  pageObjects: db
    .select({ id: objects.id })
    .from(objects)
    .where(gt(objects.id, sql.placeholder('after')))
    .orderBy(objects.id)
    .limit(sql.placeholder('limit'))
    .prepare(),
  findUnreachable: db
    .select({
      id: objects.id,
      maker: sql<string>`coalesce(${objects.updatedBy}, ${objects.createdBy})`,
      bytes: bytesOf(objects),
    })
    .from(objects)
    .where(
      sql`${objects.id} IN (WITH reach AS MATERIALIZED (${reach}) SELECT id FROM objects
        WHERE id > ${sql.placeholder('after')} AND id <= ${sql.placeholder('last')} AND ${hasPayload}
        AND (${objects.deletedAt} IS NOT NULL OR (${isLeftBehind} AND NOT ${isReached})))`,
    )
    .prepare(),
  dropPayloads: compileWrite(
    raw,
    db
      .update(objects)
      .set({ payload: 'null', deletedAt: sql`coalesce(${objects.deletedAt}, ${sql.placeholder('at')})` })
      .where(raw.dialect.inList(objects.id, 'ids')),
  ),
  overlayBytes: db
    .select({ maker: overlays.madeBy, bytes: sum(bytesOf(overlays)).mapWith(Number) })
    .from(overlays)
    .where(isNotNeeded)
    .groupBy(overlays.madeBy)
    .prepare(),
  dropOverlays: db.delete(overlays).where(isNotNeeded).returning({ view: overlays.view }).prepare(),
  versionBytes: db
    .select({ maker: objectVersions.madeBy, bytes: sum(bytesOf(objectVersions)).mapWith(Number) })
    .from(objectVersions)
    .where(isDropped)
    .groupBy(objectVersions.madeBy)
    .prepare(),
  dropVersions: compileWrite(raw, db.delete(objectVersions).where(isDropped)),
  dropUnusedPayloads: compileWrite(
    raw,
    db.delete(payloads).where(sql`${payloads.hash} NOT IN (SELECT hash FROM objects WHERE payload IS NULL)
      AND ${payloads.hash} NOT IN (SELECT hash FROM object_versions WHERE payload IS NULL AND hash IS NOT NULL)
      AND ${payloads.hash} NOT IN (SELECT hash FROM overlays WHERE payload IS NULL)`),
  ),
}));

@injectable()
export class SqlReclaimRepository implements ReclaimRepository {
  async dropPayloads(tx: WriteTx, at: number, after: ObjectId, limit: number): Promise<ReclaimBatch> {
    const page = await statements.read(tx).pageObjects.all({ after, limit });
    const last = page.at(-1)?.id;
    if (last === undefined) return { count: 0, bytes: new Map(), last };
    const found = await statements.read(tx).findUnreachable.all({ at, after, last });
    if (found.length === 0) return { count: 0, bytes: new Map(), last };
    statements.rewrite(tx).dropPayloads.run({ at, ids: JSON.stringify(found.map(({ id }) => id)) });
    return { count: found.length, bytes: sumByMaker(found), last };
  }

  async dropVersions(tx: WriteTx): Promise<Reclaimed> {
    const { overlayBytes, versionBytes } = statements.read(tx);
    const all = statements.rewrite(tx);
    const bytesOfOverlays = await overlayBytes.all({});
    const { length: count } = await all.dropOverlays.all({});
    const bytes = sumByMaker([...bytesOfOverlays, ...(await versionBytes.all({}))]);
    all.dropVersions.run({});
    all.dropUnusedPayloads.run({});
    return { count, bytes };
  }
}

function sumByMaker(rows: readonly { readonly maker: string; readonly bytes: number }[]): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { maker, bytes } of rows) sums.set(maker, (sums.get(maker) ?? 0) + bytes);
  return sums;
}
