import type Database from 'better-sqlite3';
import { eq, sql } from 'drizzle-orm';
import type { JsonValue } from '../../base/json.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { payloads } from '../schema/memory.js';
import type { Db } from '../sqlite/connection.js';
import { prepareStatements } from '../sqlite/sqlite-tx.js';
import { allColumns, compileWrite } from '../sqlite/write-statements.js';

/**
 * Payloads up to this size are stored in their row. Larger ones are stored by hash, and each random key costs a page.
 */
const inlineCharsMax = 1024;

const statements = prepareStatements((db: Db, raw: Database.Database) => ({
  find: db
    .select({ payload: payloads.payload })
    .from(payloads)
    .where(eq(payloads.hash, sql.placeholder('hash')))
    .prepare(),
  insert: compileWrite(raw, db.insert(payloads).values(allColumns(payloads)).onConflictDoNothing()),
  deleteUnused: raw.prepare<[{ hash: string }]>(
    `DELETE FROM payloads WHERE hash = @hash
       AND NOT EXISTS (SELECT 1 FROM objects WHERE objects.hash = @hash AND objects.payload IS NULL)
       AND NOT EXISTS (SELECT 1 FROM object_versions AS version
         WHERE version.hash = @hash AND version.payload IS NULL AND version.hash IS NOT NULL)
       AND NOT EXISTS (SELECT 1 FROM overlays WHERE overlays.hash = @hash AND overlays.payload IS NULL)`,
  ),
}));

/** Returns the value for the payload column of a row: the text, or null when it is stored under its hash. */
export function storePayload(tx: WriteTx, { hash, payload }: { readonly hash: string; readonly payload: string }) {
  if (payload.length <= inlineCharsMax) return payload;
  statements.write(tx).insert.run({ hash, payload });
  return null;
}

/** The payload of a row with this hash. */
export function loadPayload(tx: ReadTx, row: { readonly hash: string; readonly payload: string | null }): JsonValue {
  const text = row.payload ?? statements.read(tx).find.get({ hash: row.hash })?.payload ?? 'null';
  return JSON.parse(text) as JsonValue;
}

/** Removes the stored payloads of rows that were deleted, unless another row has the same. */
export function dropUnusedPayloads(tx: WriteTx, hashes: readonly (string | null)[]): void {
  for (const hash of new Set(hashes)) if (hash !== null) statements.write(tx).deleteUnused.run({ hash });
}
