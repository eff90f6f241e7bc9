import { type Page, scanRowsMax } from '../../base/page.js';
import type { Store } from '../../base/store.js';
import { matchesAuditFilter, type ParsedAuditFilter } from '../audit-filter.js';
import { type AuditRecord, decodeRecord } from '../audit-record.js';
import type { AuditRepository } from '../audit-repository.js';

const unitRows = 500;
/** A page ends early when its payloads exceed this: a page of the largest records would not fit into memory. */
const pageBytesMax = 16 * 1024 * 1024;

/** Reads one page of matching records, in the order of the log, in short units. */
export async function listRecords(
  store: Store,
  repository: AuditRepository,
  filter: ParsedAuditFilter,
): Promise<Page<AuditRecord>> {
  const items: AuditRecord[] = [];
  let after = Number(filter.after ?? 0);
  let bytes = 0;
  for (let scanned = 0; scanned < scanRowsMax; ) {
    const rows = await readRows(store, repository, after, Math.min(unitRows, scanRowsMax - scanned));
    for (const { record, payloadBytes } of rows) {
      scanned++;
      after = record.seq;
      if (!matchesAuditFilter(filter, record)) continue;
      items.push(record);
      bytes += payloadBytes;
      if (items.length === filter.limit || bytes > pageBytesMax) return { items, next: String(after) };
    }
    if (rows.length < unitRows && scanned < scanRowsMax) return { items };
  }
  return { items, next: String(after) };
}

function readRows(store: Store, repository: AuditRepository, after: number, limit: number) {
  return store.read(async (tx) => {
    const rows = await repository.recordsAfter(tx, after, limit);
    const payloads = await repository.payloads(tx, rows[0]?.seq ?? 0, rows.at(-1)?.seq ?? -1);
    const bySeq = new Map(payloads.map((payload) => [payload.seq, payload]));
    return rows.map((row) => {
      const payload = bySeq.get(row.seq);
      return { record: decodeRecord(row, payload), payloadBytes: payload?.bytes.length ?? 0 };
    });
  });
}
