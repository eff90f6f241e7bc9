import type { Hash } from '../../base/json.js';
import type { StoredRecord } from '../audit-repository.js';
import { bodyHash, headerHash, headerText } from '../writing/record-encoding.js';
import type { Fault, FaultKind } from './verify-report.js';

/** The position in the log of the next record. */
export interface ChainPosition {
  /** The JSON text of the log's id. */
  readonly log: string;
  readonly seq: number;
  readonly prev: Hash;
}

/**
 * Checks that `record` belongs at this position, by building the header that it must have; the header is parsed only to
 * explain a fault.
 */
export function checkLink(position: ChainPosition, record: StoredRecord): Fault | undefined {
  const fits =
    record.seq === position.seq &&
    record.header === headerText(bodyHash(record.body), position.log, position.prev, position.seq) &&
    record.hash === headerHash(record.header);
  return fits ? undefined : explainFault(position, record);
}

function explainFault(position: ChainPosition, record: StoredRecord): Fault {
  const { seq, header, hash, body } = record;
  const fault = (kind: FaultKind, detail: string): Fault => ({ seq, kind, detail });
  if (seq < position.seq) return fault('INSERTED', `There is a record with the number ${seq}.`);
  if (seq > position.seq)
    return { seq: position.seq, kind: 'MISSING', detail: `Record ${position.seq} is not there; ${seq} follows.` };
  if (hash !== headerHash(header)) return fault('EDITED', `The header of record ${seq} does not have its hash.`);
  const parts = parseHeader(header);
  if (parts === undefined) return fault('EDITED', `The header of record ${seq} is not a header.`);
  if (parts.seq !== seq) return fault('REORDERED', `Record ${String(parts.seq)} stands at the place of ${seq}.`);
  if (parts.body !== bodyHash(body)) return fault('EDITED', `The body of record ${seq} does not have its hash.`);
  if (JSON.stringify(parts.log) !== position.log) return fault('INSERTED', `Record ${seq} belongs to another log.`);
  if (parts.prev !== position.prev) return fault('INSERTED', `Record ${seq} does not follow the record before it.`);
  return fault('EDITED', `The header of record ${seq} is not in canonical form.`);
}

function parseHeader(header: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(header);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    // The caller reports it.
    return undefined;
  }
}
