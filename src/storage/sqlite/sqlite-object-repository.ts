import { eq, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import { canonicalJson } from '../../base/canonical.js';
import type { ObjectId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { ObjectRecord, ViewRecord } from '../../memory/object.js';
import type { ObjectRepository } from '../../memory/object-repository.js';
import { everyColumn } from './bind.js';
import type { Db } from './connection.js';
import { objects, payloads, views } from './schema/memory.js';
import { prepared } from './sqlite-tx.js';

/** Hashes are random keys, and random keys cost a page each: a payload up to this size stands in its object's row. */
const inlineBytesMax = 1024;

const statements = prepared((db: Db) => ({
  find: db
    .select({ object: objects, stored: payloads.payload })
    .from(objects)
    .leftJoin(payloads, eq(payloads.hash, objects.hash))
    .where(eq(objects.id, sql.placeholder('id')))
    .prepare(),
  insert: db.insert(objects).values(everyColumn(objects)).prepare(),
  insertPayload: db.insert(payloads).values(everyColumn(payloads)).onConflictDoNothing().prepare(),
  findView: db
    .select()
    .from(views)
    .where(eq(views.n, sql.placeholder('n')))
    .prepare(),
  insertView: db.insert(views).values(everyColumn(views)).prepare(),
}));

@injectable()
export class SqliteObjectRepository implements ObjectRepository {
  async find(tx: ReadTx, id: ObjectId): Promise<ObjectRecord | undefined> {
    const found = statements.read(tx).find.get({ id });
    if (found === undefined) return undefined;
    return { ...found.object, payload: JSON.parse(found.object.payload ?? found.stored ?? 'null') as JsonValue };
  }

  async insert(tx: WriteTx, object: ObjectRecord): Promise<void> {
    const text = canonicalJson(object.payload);
    const inline = text.length <= inlineBytesMax;
    if (!inline) statements.write(tx).insertPayload.run({ hash: object.hash, payload: text });
    statements.write(tx).insert.run({ ...object, payload: inline ? text : null });
  }

  async findView(tx: ReadTx, n: number): Promise<ViewRecord | undefined> {
    return statements.read(tx).findView.get({ n });
  }

  async insertView(tx: WriteTx, view: ViewRecord): Promise<number> {
    return Number(statements.write(tx).insertView.run({ ...view, n: null }).lastInsertRowid);
  }
}
