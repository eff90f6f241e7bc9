import { and, eq, sql } from 'drizzle-orm';
import type { JsonValue } from '../../base/json.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { payloads } from '../schema/memory.js';
import { allColumns, compileWrite } from '../statements/compiled-writes.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';

/**
 * Payloads up to this size are stored in their row. Larger ones are stored by hash, and each random key costs a page.
 */
const inlineCharsMax = 1024;

const statements = prepareStatements((db: Db, raw: StatementConnection) => ({
  find: db
    .select({ payload: payloads.payload })
    .from(payloads)
    .where(eq(payloads.hash, sql.placeholder('hash')))
    .prepare(),
  insert: compileWrite(raw, db.insert(payloads).values(allColumns(payloads)).onConflictDoNothing()),
  deleteUnused: compileWrite(
    raw,
    db.delete(payloads).where(
      and(
        raw.dialect.inList(payloads.hash, 'hashes'),
        sql`NOT EXISTS (SELECT 1 FROM objects WHERE objects.hash = payloads.hash AND objects.payload IS NULL)`,
        sql`NOT EXISTS (SELECT 1 FROM object_versions AS version
          WHERE version.hash = payloads.hash AND version.payload IS NULL AND version.hash IS NOT NULL)`,
        sql`NOT EXISTS (SELECT 1 FROM overlays WHERE overlays.hash = payloads.hash AND overlays.payload IS NULL)`,
      ),
    ),
  ),
}));

/** Returns the value for the payload column of a row: the text, or null when it is stored under its hash. */
export function storePayload(tx: WriteTx, { hash, payload }: { readonly hash: string; readonly payload: string }) {
  if (payload.length <= inlineCharsMax) return payload;
  statements.write(tx).insert.run({ hash, payload });
  return null;
}

/** The payload of a row with this hash. */
export async function loadPayload(
  tx: ReadTx,
  row: { readonly hash: string; readonly payload: string | null },
): Promise<JsonValue> {
  const text = row.payload ?? (await statements.read(tx).find.get({ hash: row.hash }))?.payload ?? 'null';
  return JSON.parse(text) as JsonValue;
}

/** Removes the stored payloads of rows that were deleted, unless another row has the same. */
export function dropUnusedPayloads(tx: WriteTx, hashes: readonly (string | null)[]): void {
  const stored = new Set(hashes.flatMap((hash) => hash ?? []));
  if (stored.size > 0) statements.write(tx).deleteUnused.run({ hashes: JSON.stringify([...stored]) });
}
