import type Database from 'better-sqlite3';
import { eq, sql } from 'drizzle-orm';
import type { JsonValue } from '../../base/json.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { payloads } from '../schema/memory.js';
import type { Db } from '../sqlite/connection.js';
import { prepareStatements } from '../sqlite/sqlite-tx.js';
import { allColumns, compileWrite } from './write-statements.js';

/** Hashes are random keys, and random keys cost a page each: a payload up to this size stands in the row it belongs to. */
const inlineCharsMax = 1024;

const statements = prepareStatements((db: Db, raw: Database.Database) => ({
  find: db
    .select({ payload: payloads.payload })
    .from(payloads)
    .where(eq(payloads.hash, sql.placeholder('hash')))
    .prepare(),
  insert: compileWrite(raw, db.insert(payloads).values(allColumns(payloads)).onConflictDoNothing()),
}));

/** What goes into the payload column of a row: the text, or nothing when it was stored under its hash. */
export function storePayload(tx: WriteTx, { hash, payload }: { readonly hash: string; readonly payload: string }) {
  if (payload.length <= inlineCharsMax) return payload;
  statements.write(tx).insert.run({ hash, payload });
  return null;
}

/** What a row with this hash holds. */
export function loadPayload(tx: ReadTx, row: { readonly hash: string; readonly payload: string | null }): JsonValue {
  const text = row.payload ?? statements.read(tx).find.get({ hash: row.hash })?.payload ?? 'null';
  return JSON.parse(text) as JsonValue;
}
