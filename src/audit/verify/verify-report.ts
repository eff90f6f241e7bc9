import type { Hash } from '../../base/json.js';

/** What can be wrong with a log. */
export type FaultKind =
  /** The hash of a header or body differs. */
  | 'EDITED'
  /** A gap; the fault names the first seq that is not there. */
  | 'MISSING'
  /** A record stands at the place of another. */
  | 'REORDERED'
  /** A record is whole in itself but does not follow the one before it. */
  | 'INSERTED'
  /** The log is shorter than it was; the fault names the last seq + 1. */
  | 'TRUNCATED'
  /** The log had another root when a checkpoint was signed. */
  | 'FORKED'
  | 'BAD_SIGNATURE'
  /** A payload is gone and no erasure record says why. */
  | 'PAYLOAD_ERASED';

export interface Fault {
  readonly seq: number;
  readonly kind: FaultKind;
  readonly detail: string;
}

export interface VerifyReport {
  readonly ok: boolean;
  /** How many records were looked at. */
  readonly checked: number;
  /** How many records the log has. */
  readonly size: number;
  /** The recomputed root over everything up to the last record that was looked at. */
  readonly root: Hash;
  /** How many of the records are numbered and chained. */
  readonly sealed: number;
  readonly firstBad?: Fault;
  /** The records whose payload was erased, each with its erasure record. */
  readonly erased: number[];
}
