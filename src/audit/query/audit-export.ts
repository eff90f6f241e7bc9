import type { Store } from '../../base/store.js';
import type { AuditRepository, StoredPayload, StoredRecord } from '../audit-repository.js';
import { type FoundCheckpoint, storedCheckpoints } from '../checkpoint/checkpoint-feed.js';
import { rootAt } from '../merkle/tiles.js';

const exportVersion = 1;
const pageRows = 500;

export interface ExportOptions {
  /** Includes resources and payloads with their salts, so that the reader can check them too. Default: false. */
  readonly payloads?: boolean;
}

/** The part of the log that is exported: up to `size`, the records that were signed for it, or all that there are. */
interface ExportRange {
  readonly size?: number | undefined;
}

/**
 * Yields the log as JSON Lines: a manifest, the records in order, each checkpoint after its last record. Records that
 * are appended meanwhile are left out. The manifest tells how many records no checkpoint covers, if there are any.
 */
export async function* exportLines(
  store: Store,
  repository: AuditRepository,
  options: ExportOptions & ExportRange,
): AsyncIterable<string> {
  const manifest = await store.read(async (tx) => {
    const size = options.size ?? (await repository.head(tx))?.seq ?? 0;
    const root = await rootAt(tx, repository, size);
    const log = (await repository.logId(tx)) ?? '';
    const payloads = options.payloads === true;
    const unsigned = size - ((await repository.lastCheckpoint(tx))?.size ?? 0);
    const tail = unsigned > 0 ? { unsigned } : {};
    const keys = await repository.keys(tx);
    return { kind: 'manifest', version: exportVersion, log, size, root, ...tail, payloads, keys };
  });
  yield toLine(manifest);
  const { size, keys } = manifest;
  const known = new Set(keys.map(({ id }) => id));
  const checkpoints = withKnownKeys(storedCheckpoints(store, repository, 0), known)[Symbol.asyncIterator]();
  let next = await checkpoints.next();
  for (let after = Number.MIN_SAFE_INTEGER; ; ) {
    const page = await readPage(store, repository, after, options);
    for (const record of page) {
      for (; next.done !== true && next.value.checkpoint.size < record.seq; next = await checkpoints.next()) {
        yield toLine({ kind: 'checkpoint', ...next.value.checkpoint });
      }
      if (record.seq > size) break;
      yield toLine(record);
    }
    after = page.at(-1)?.seq ?? size;
    if (after >= size) break;
  }
  for (; next.done !== true && next.value.checkpoint.size <= size; next = await checkpoints.next()) {
    yield toLine({ kind: 'checkpoint', ...next.value.checkpoint });
  }
}

/** Leaves out checkpoints with a key that was added to the database after the manifest was read. */
async function* withKnownKeys(
  checkpoints: AsyncIterable<FoundCheckpoint>,
  known: ReadonlySet<string>,
): AsyncIterable<FoundCheckpoint> {
  for await (const found of checkpoints) {
    if (known.has(found.checkpoint.key) || found.publicKey === undefined) yield found;
  }
}

function readPage(store: Store, repository: AuditRepository, after: number, options: ExportOptions) {
  return store.read(async (tx) => {
    const records = await repository.recordsAfter(tx, after, pageRows);
    if (options.payloads !== true) return records.map((record) => recordLine(record, undefined));
    const payloads = await repository.payloads(tx, records[0]?.seq ?? 0, records.at(-1)?.seq ?? -1);
    const bySeq = new Map(payloads.map((payload) => [payload.seq, payload]));
    return records.map((record) => recordLine(record, bySeq.get(record.seq)));
  });
}

function recordLine({ seq, header, hash, body }: StoredRecord, payload: StoredPayload | undefined) {
  const base = { kind: 'record', seq, header, hash, body };
  return payload === undefined
    ? base
    : { ...base, payload: { salt: payload.salt.toString('hex'), bytes: payload.bytes } };
}

function toLine(value: object): string {
  return `${JSON.stringify(value)}\n`;
}
