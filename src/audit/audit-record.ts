import type { Hash, JsonObject } from '../base/json.js';
import type { StoredPayload, StoredRecord } from './audit-repository.js';
import type { AuditBody } from './writing/record-encoding.js';

/** One decoded record of the log. */
export interface AuditRecord extends Omit<AuditBody, 'commitment'> {
  /** The number of the record in the log, from 1. */
  readonly seq: number;
  /** The hash of the record. */
  readonly hash: Hash;
  /** The hash of the record before it. */
  readonly prev: Hash;
  /** Absent when the record has none, and when its payload was erased. */
  readonly resource?: string;
  /** null when it was erased. */
  readonly payload?: JsonObject | null;
}

/** Decodes a record. A damaged body gives an `audit.unreadable` record, so that a broken log can still be listed. */
export function decodeRecord(stored: StoredRecord, payload: StoredPayload | undefined): AuditRecord {
  const { seq, hash } = stored;
  const prev = parseJsonObject<{ prev: Hash }>(stored.header)?.prev ?? '';
  const body = parseJsonObject<AuditBody>(stored.body);
  if (body === undefined) return { ...unreadable, seq, hash, prev };
  const { commitment, ...members } = body;
  if (commitment === undefined) return { ...members, seq, hash, prev };
  if (payload === undefined) return { ...members, seq, hash, prev, payload: null };
  return { ...members, seq, hash, prev, ...decodePayload(payload.bytes) };
}

function decodePayload(bytes: string): Pick<AuditRecord, 'resource' | 'payload'> {
  const { resource, ...payload } = parseJsonObject<JsonObject>(bytes) ?? {};
  return {
    ...(typeof resource === 'string' ? { resource } : {}),
    ...(Object.keys(payload).length > 0 ? { payload } : {}),
  };
}

const unreadable = {
  id: '',
  at: 0,
  node: '',
  actor: '',
  via: '',
  action: 'audit.unreadable',
  outcome: 'unknown',
} as const;

function parseJsonObject<T extends object>(text: string): T | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as T) : undefined;
  } catch {
    // Damaged text: verify reports it.
    return undefined;
  }
}
