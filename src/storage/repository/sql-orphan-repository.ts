import { injectable } from 'inversify';
import type { ObjectId } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { Source } from '../../memory/object/object.js';
import type {
  ObjectReference,
  OrphanRepository,
  ReferringTable,
  RemovedObject,
  ScannedObject,
} from '../../memory/object/orphan-repository.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';
import { dropUnusedPayloads } from './payload-store.js';

/** The columns that refer to objects: the object that a row belongs to, others, and the sources of a version. */
const referring: Record<ReferringTable, string> = {
  object_versions: 'object AS owner, NULL AS one, NULL AS other, sources',
  overlays: 'NULL AS owner, object AS one, NULL AS other, sources',
  view_entries: 'NULL AS owner, object AS one, NULL AS other, NULL AS sources',
  views: 'NULL AS owner, root AS one, NULL AS other, NULL AS sources',
  processes: 'NULL AS owner, goal AS one, result AS other, NULL AS sources',
  links: 'source AS owner, target AS one, NULL AS other, NULL AS sources',
};

/** The row numbers by which they are read in pages. */
const numberOf: Record<ReferringTable, string> = {
  object_versions: 'n',
  overlays: 'rowid',
  view_entries: 'n',
  views: 'n',
  processes: 'n',
  links: 'rowid',
};

interface ReferringRow {
  readonly n: number;
  readonly owner: string | null;
  readonly one: string | null;
  readonly other: string | null;
  readonly sources: string | null;
}

interface RemovedRow {
  readonly maker: string;
  readonly bytes: number;
  readonly hash: string | null;
}

/** The maker of a version, the bytes that it was charged, and the hash of a payload that is stored apart. */
const removed = (maker: string) => `${maker} AS maker, CASE WHEN payload IN ('{}', 'null') THEN 0
  ELSE coalesce(octet_length(payload), (SELECT octet_length(stored.payload) FROM payloads AS stored WHERE stored.hash = row.hash), 0)
  END AS bytes, CASE WHEN payload IS NULL THEN hash END AS hash`;

const statements = prepareStatements((_db: Db, raw: StatementConnection) => {
  const pageOf = (table: ReferringTable) =>
    raw.prepare<[{ after: number; limit: number }], ReferringRow>(
      `SELECT ${numberOf[table]} AS n, ${referring[table]} FROM ${table} WHERE ${numberOf[table]} > @after
       ORDER BY ${numberOf[table]} LIMIT @limit`,
    );
  return {
    pageObjects: raw.prepare<
      [{ after: string; limit: number }],
      { id: string; namespace: string; owner: string | null; isLive: number; sources: string | null }
    >(
      `SELECT id, namespace, owner, EXISTS (SELECT 1 FROM processes WHERE processes.pid = owner) AS "isLive", sources
       FROM (SELECT id, namespace, sources, CASE WHEN namespace LIKE 'process/%'
           THEN substr(namespace, 9, instr(substr(namespace, 9) || '/', '/') - 1) END AS owner
         FROM objects WHERE id > @after ORDER BY id LIMIT @limit)`,
    ),
    pages: {
      object_versions: pageOf('object_versions'),
      overlays: pageOf('overlays'),
      view_entries: pageOf('view_entries'),
      views: pageOf('views'),
      processes: pageOf('processes'),
      links: pageOf('links'),
    },
    versions: raw.prepare<[{ id: string; limit: number }], RemovedRow & { n: number }>(
      `SELECT n, ${removed('made_by')} FROM object_versions AS row WHERE object = @id LIMIT @limit`,
    ),
    deleteVersion: raw.prepare<[number]>('DELETE FROM object_versions WHERE n = ?'),
    object: raw.prepare<[string], RemovedRow>(
      `SELECT ${removed('coalesce(updated_by, created_by)')} FROM objects AS row WHERE id = ?`,
    ),
    deleteObject: raw.prepare<[string]>('DELETE FROM objects WHERE id = ?'),
    deleteLinksFrom: raw.prepare<[string]>('DELETE FROM links WHERE source = ?'),
    deleteLinksTo: raw.prepare<[string]>('DELETE FROM links WHERE target = ?'),
  };
});

@injectable()
export class SqlOrphanRepository implements OrphanRepository {
  async pageObjects(tx: ReadTx, after: ObjectId, limit: number): Promise<readonly ScannedObject[]> {
    const page = await statements.read(tx).pageObjects.all({ after, limit });
    return page.map(({ id, namespace, owner, isLive, sources }) => ({
      id,
      namespace,
      orphanOf: isLive === 1 ? null : owner,
      sources: sourcesIn(sources),
    }));
  }

  async pageReferences(
    tx: ReadTx,
    table: ReferringTable,
    after: number,
    limit: number,
  ): Promise<readonly ObjectReference[]> {
    const page = await statements.read(tx).pages[table].all({ after, limit });
    return page.map(({ n, owner, one, other, sources }) => ({
      n,
      from: owner,
      to: [...(one === null ? [] : [one]), ...(other === null ? [] : [other]), ...sourcesIn(sources)],
    }));
  }

  async remove(tx: WriteTx, id: ObjectId, versionsMax: number): Promise<RemovedObject> {
    const all = statements.rewrite(tx);
    const rows: RemovedRow[] = await all.versions.all({ id, limit: versionsMax });
    for (const { n } of rows as (RemovedRow & { n: number })[]) all.deleteVersion.run(n);
    const isGone = rows.length < versionsMax;
    if (isGone) {
      const object = await all.object.get(id);
      if (object !== undefined) rows.push(object);
      all.deleteLinksFrom.run(id);
      all.deleteLinksTo.run(id);
      all.deleteObject.run(id);
    }
    dropUnusedPayloads(
      tx,
      rows.map(({ hash }) => hash),
    );
    const bytes = new Map<string, number>();
    for (const row of rows) bytes.set(row.maker, (bytes.get(row.maker) ?? 0) + row.bytes);
    return { isGone, bytes };
  }
}

function sourcesIn(text: string | null): ObjectId[] {
  return text === null ? [] : (JSON.parse(text) as Source[]).map(({ object }) => object);
}
