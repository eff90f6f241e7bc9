import type { Hash } from '../../base/json.js';

/** The kinds of faults of a log. */
export type FaultKind =
  /** The hash of a header or body differs. */
  | 'EDITED'
  /** A gap; the fault names the first seq that is not there. */
  | 'MISSING'
  /** A record is at the position of another. */
  | 'REORDERED'
  /** A record has the right hash but does not follow the one before it. */
  | 'INSERTED'
  /** The log is shorter than it was; the fault names the last seq + 1. */
  | 'TRUNCATED'
  /** The log had another root when a checkpoint was signed. */
  | 'FORKED'
  | 'BAD_SIGNATURE'
  /** A payload is missing without an erasure record. */
  | 'PAYLOAD_ERASED';

/** The first thing in a log that is not as it was written. */
export interface Fault {
  /** The number of the record. */
  readonly seq: number;
  /** The kind of fault. */
  readonly kind: FaultKind;
  /** The finding, in words. */
  readonly detail: string;
}

/** The result of verifying a log. */
export interface VerifyReport {
  /** Whether the log is as it was written. */
  readonly ok: boolean;
  /** The number of records that were verified. */
  readonly checked: number;
  /** The number of records in the log. */
  readonly size: number;
  /** The recomputed root of the log up to the last record that was verified. */
  readonly root: Hash;
  /** The number of records that are numbered and chained. */
  readonly sealed: number;
  /** The first fault; absent where there is none. */
  readonly firstBad?: Fault;
  /** The records whose payload was erased, each with its erasure record. */
  readonly erased: number[];
}
