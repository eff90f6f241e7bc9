import type { CapabilityId, ObjectId } from '../../base/ids.js';
import { type Token, token } from '../../base/token.js';

/** A version of an object, with its author and the call that made it. */
export interface ProvenanceNode {
  readonly object: ObjectId;
  readonly version: number;
  readonly type: string;
  readonly hash: string;
  /** The pid of the process that wrote the version, or `host`. */
  readonly madeBy: string;
  /** When, in milliseconds since 1970. */
  readonly madeAt: number;
  /**
   * The action of the audit record of the call that made it; absent for goals and results, which have no record of
   * their own.
   */
  readonly action?: string;
  /** The capability that allowed it. */
  readonly capability?: CapabilityId | 'kin' | 'host';
  /** The tool that returned it. */
  readonly tool?: string;
  /** The number of the audit record of the call. */
  readonly seq?: number;
}

/** The objects that an object was made from, directly and indirectly. */
export interface ProvenanceGraph {
  /** The object that was asked about. */
  readonly object: ObjectId;
  /** The object itself first, then its sources, nearest first. */
  readonly nodes: readonly ProvenanceNode[];
  /** `from` was made from `to`. */
  readonly edges: readonly { readonly from: ObjectId; readonly to: ObjectId; readonly version: number }[];
}

/** Lets the audit log answer questions about objects, which are a layer above it. */
export interface ProvenanceQuery {
  /** Throws NO_SUCH_OBJECT. */
  provenance(object: ObjectId): Promise<ProvenanceGraph>;
}
export const ProvenanceQuery: Token<ProvenanceQuery> = token('ProvenanceQuery');
