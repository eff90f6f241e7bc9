import type { CapabilityId, ObjectId, Pid } from '../base/ids.js';
import type { JsonObject } from '../base/json.js';

/** The outcome of a recorded call; `intent` is recorded before an effect whose outcome follows. */
export type AuditOutcome = 'intent' | 'ok' | 'failed' | 'refused' | 'unknown';

/**
 * The content of one audit record. Everything but `resource` and `payload` goes into the body, which is hashed
 * and never erased: ids, kinds, codes and numbers only. Text that people wrote belongs in `payload`.
 */
export interface AuditEntry {
  /** The pid that acted, or `host`. */
  readonly actor: string;
  /** `process`, or `host:OPERATOR`. */
  readonly via: string;
  /** The action: docs/tables.md#audit-actions. */
  readonly action: string;
  /** The outcome of the call; `intent` is recorded before an effect whose outcome follows. */
  readonly outcome: AuditOutcome;
  /** The time of the call, in milliseconds since 1970. */
  readonly at: number;
  /** The target of the action, such as a pid or the id of an object. */
  readonly target?: string;
  /** The generation of the acting process. */
  readonly generation?: number;
  /** The right that the call needs. */
  readonly right?: string;
  /** The code of the decision, such as `ALLOWED`. */
  readonly decision?: string;
  /** Of a refused or failed call: the code of its error. */
  readonly code?: string;
  /** The capability that allowed it; `kin` where being parent or child is enough, `host` for the host. */
  readonly capability?: CapabilityId | 'kin' | 'host';
  /** The approval that a rule had required. */
  readonly approval?: string;
  /** Joins the record of an intent with the record of its outcome. */
  readonly effectId?: string;
  /** The id of the record that caused this one. */
  readonly cause?: string;
  /** The state before the change, such as a status or a hash. */
  readonly before?: string;
  /** The state after the change. */
  readonly after?: string;
  /** Further ids, codes and numbers. */
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
