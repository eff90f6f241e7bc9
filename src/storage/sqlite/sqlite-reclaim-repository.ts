import type Database from 'better-sqlite3';
import { sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { WriteTx } from '../../base/store.js';
import type { ReclaimRepository } from '../../memory/reclaim-repository.js';
import { compiled } from './compiled.js';
import type { Db } from './connection.js';
import { objects, objectVersions, overlays, payloads, views } from './schema/memory.js';
import { prepared } from './sqlite-tx.js';

/** In the own namespace of a process that has ended, and whose parent has ended too or has merged it. Not a root's. */
const isLeft = sql`EXISTS (SELECT 1 FROM processes AS maker
  LEFT JOIN processes AS parent ON parent.pid = maker.parent
  LEFT JOIN views AS view ON view.n = maker.view
  WHERE ${objects.namespace} = 'process/' || maker.pid AND maker.exited_at IS NOT NULL AND maker.parent IS NOT NULL
  AND (parent.exited_at IS NOT NULL OR view.state IS NOT NULL))`;
const hasPayload = sql`${objects.hash} <> '' AND (${objects.payload} IS NULL OR ${objects.payload} <> 'null')`;
/** Merged, or written through speculatively by a process that has not ended as it should. */
const isOver = sql`${views.state} IS NOT NULL OR (${views.mode} = 'ephemeral' AND EXISTS (SELECT 1 FROM processes
  WHERE processes.view = ${views.n} AND processes.exited_at IS NOT NULL AND processes.status <> 'exited'))`;

const statements = prepared((db: Db, raw: Database.Database) => {
  const over = db.select({ n: views.n }).from(views).where(isOver);
  return {
    release: compiled(
      raw,
      db
        .update(objects)
        .set({ payload: 'null', deletedAt: sql`coalesce(${objects.deletedAt}, ${sql.placeholder('at')})` })
        .where(
          sql`${objects.id} IN (SELECT id FROM objects WHERE ${hasPayload}
            AND (${objects.deletedAt} IS NOT NULL OR ${isLeft}) LIMIT ${sql.placeholder('limit')})`,
        ),
    ),
    overlays: compiled(raw, db.delete(overlays).where(sql`${overlays.view} IN ${over}`)),
    versions: compiled(
      raw,
      db.delete(objectVersions).where(sql`${objectVersions.branch} IN ${over} OR (${objectVersions.branch} = 0 AND
        ${objectVersions.object} IN (SELECT id FROM objects WHERE deleted_at IS NOT NULL))`),
    ),
    payloads: compiled(
      raw,
      db.delete(payloads).where(sql`${payloads.hash} NOT IN (SELECT hash FROM objects WHERE payload IS NULL)
        AND ${payloads.hash} NOT IN (SELECT hash FROM object_versions WHERE payload IS NULL AND hash IS NOT NULL)
        AND ${payloads.hash} NOT IN (SELECT hash FROM overlays WHERE payload IS NULL)`),
    ),
  };
});

@injectable()
export class SqliteReclaimRepository implements ReclaimRepository {
  async reclaim(tx: WriteTx, at: number, limit: number): Promise<number> {
    const all = statements.write(tx);
    const released = all.release.run({ at, limit }).changes;
    if (released > 0) {
      all.versions.run({});
      all.overlays.run({});
      all.payloads.run({});
    }
    return released;
  }
}
