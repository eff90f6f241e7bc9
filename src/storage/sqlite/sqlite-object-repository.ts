import type Database from 'better-sqlite3';
import { eq, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { ObjectId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { NewObject, ObjectRecord, ViewRecord } from '../../memory/object.js';
import type { ObjectRepository } from '../../memory/object-repository.js';
import { everyColumn, everyColumnButNumber } from './bind.js';
import { compiled } from './compiled.js';
import type { Db } from './connection.js';
import { objects, payloads, views } from './schema/memory.js';
import { done, prepared } from './sqlite-tx.js';

/** Hashes are random keys, and random keys cost a page each: a payload up to this size stands in its object's row. */
const inlineCharsMax = 1024;

const statements = prepared((db: Db, raw: Database.Database) => ({
  find: db
    .select({ object: objects, stored: payloads.payload })
    .from(objects)
    .leftJoin(payloads, eq(payloads.hash, objects.hash))
    .where(eq(objects.id, sql.placeholder('id')))
    .prepare(),
  insert: compiled(raw, db.insert(objects).values(everyColumn(objects))),
  insertPayload: compiled(raw, db.insert(payloads).values(everyColumn(payloads)).onConflictDoNothing()),
  findView: db
    .select()
    .from(views)
    .where(eq(views.n, sql.placeholder('n')))
    .prepare(),
  insertView: compiled(raw, db.insert(views).values(everyColumnButNumber(views))),
}));

@injectable()
export class SqliteObjectRepository implements ObjectRepository {
  async find(tx: ReadTx, id: ObjectId): Promise<ObjectRecord | undefined> {
    const found = statements.read(tx).find.get({ id });
    if (found === undefined) return undefined;
    return { ...found.object, payload: JSON.parse(found.object.payload ?? found.stored ?? 'null') as JsonValue };
  }

  insert(tx: WriteTx, object: NewObject): Promise<void> {
    const inline = object.payload.length <= inlineCharsMax;
    if (!inline) statements.write(tx).insertPayload.run(object);
    statements.write(tx).insert.run(inline ? object : { ...object, payload: null });
    return done;
  }

  async findView(tx: ReadTx, n: number): Promise<ViewRecord | undefined> {
    return statements.read(tx).findView.get({ n });
  }

  async insertView(tx: WriteTx, view: ViewRecord): Promise<number> {
    return Number(statements.write(tx).insertView.run(view).lastInsertRowid);
  }
}
