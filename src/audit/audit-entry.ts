import type { CapabilityId, ObjectId, Pid } from '../base/ids.js';
import type { JsonObject } from '../base/json.js';

type AuditOutcome = 'intent' | 'ok' | 'failed' | 'refused' | 'unknown';

/**
 * The content of one audit record. Everything but `resource` and `payload` goes into the body, which is hashed
 * and never erased: ids, kinds, codes and numbers only. Text that people wrote belongs in `payload`.
 */
export interface AuditEntry {
  /** The pid that acted, or `host`. */
  readonly actor: string;
  /** `process`, or `host:OPERATOR`. */
  readonly via: string;
  readonly action: string;
  readonly outcome: AuditOutcome;
  readonly at: number;
  readonly target?: string;
  /** The generation of the acting process. */
  readonly generation?: number;
  readonly right?: string;
  readonly decision?: string;
  readonly code?: string;
  readonly capability?: CapabilityId | 'kin' | 'host';
  readonly approval?: string;
  readonly effectId?: string;
  /** The id of the record that caused this one. */
  readonly cause?: string;
  readonly before?: string;
  readonly after?: string;
  readonly facts?: JsonObject;
  readonly resource?: string;
  readonly payload?: JsonObject;
  /** The process or object whose lineage or provenance includes this record; for the index, not part of the body. */
  readonly subject?: Pid | ObjectId;
}

/** An entry as syscalls write it: a member may also be undefined. */
export type NewAuditEntry = {
  readonly [Name in keyof AuditEntry]: Record<never, never> extends Pick<AuditEntry, Name>
    ? AuditEntry[Name] | undefined
    : AuditEntry[Name];
};
