import { type Page, scanRowsMax } from '../../base/page.js';
import type { Store } from '../../base/store.js';
import { matchesAuditFilter, type ParsedAuditFilter } from '../audit-filter.js';
import { type AuditRecord, decodeRecord } from '../audit-record.js';
import type { AuditRepository, RecordRange, RecordScan } from '../audit-repository.js';

const unitRows = 500;
/** A page ends early when its payloads exceed this: a page of the largest records would not fit into memory. */
const pageBytesMax = 16 * 1024 * 1024;

/** Reads one page of matching records in short units, by the narrowest index that the filter allows. */
export async function listRecords(
  store: Store,
  repository: AuditRepository,
  filter: ParsedAuditFilter,
): Promise<Page<AuditRecord>> {
  const { order, limit, before = Number.MAX_SAFE_INTEGER } = filter;
  const scan = scanOf(filter);
  const items: AuditRecord[] = [];
  let cursor = Number(filter.after ?? (order === 'asc' ? 0 : Number.MAX_SAFE_INTEGER));
  let bytes = 0;
  for (let scanned = 0; items.length === 0 || scanned < scanRowsMax; ) {
    const ends = order === 'asc' ? { above: cursor, below: before } : { above: 0, below: Math.min(cursor, before) };
    const rows = await readRows(store, repository, scan, { ...ends, order, limit: unitRows });
    for (const { record, payloadBytes } of rows) {
      scanned++;
      cursor = record.seq;
      if (!matchesAuditFilter(filter, record)) continue;
      items.push(record);
      bytes += payloadBytes;
      if (items.length === limit || bytes > pageBytesMax) return { items, next: String(cursor) };
    }
    if (rows.length < unitRows) return { items };
  }
  return { items, next: String(cursor) };
}

function scanOf({ actor, target }: ParsedAuditFilter): RecordScan {
  if (target !== undefined) return { by: 'target', target };
  return actor === undefined ? { by: 'all' } : { by: 'actor', actor };
}

function readRows(store: Store, repository: AuditRepository, scan: RecordScan, range: RecordRange) {
  return store.read(async (tx) => {
    const rows = await repository.findRecords(tx, scan, range);
    const payloads = await repository.payloadsOf(
      tx,
      rows.map(({ seq }) => seq),
    );
    const bySeq = new Map(payloads.map((payload) => [payload.seq, payload]));
    return rows.map((row) => {
      const payload = bySeq.get(row.seq);
      return { record: decodeRecord(row, payload), payloadBytes: payload?.bytes.length ?? 0 };
    });
  });
}
