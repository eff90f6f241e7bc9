import type { CapabilityId, ObjectId } from '../../base/ids.js';
import { type Token, token } from '../../base/token.js';

/** A version of an object, who made it and by what. */
export interface ProvenanceNode {
  readonly object: ObjectId;
  readonly version: number;
  readonly type: string;
  readonly hash: string;
  readonly madeBy: string;
  readonly madeAt: number;
  /** What the record of its making names, where there is one: a goal and a result are made by their process's own calls. */
  readonly action?: string;
  readonly capability?: CapabilityId | 'kin' | 'host';
  /** Whose result it is. */
  readonly tool?: string;
  readonly seq?: number;
}

/** What an object was made from, and what those were made from in turn. */
export interface ProvenanceGraph {
  readonly object: ObjectId;
  /** Itself first, then the nearest. */
  readonly nodes: readonly ProvenanceNode[];
  /** `from` was made from `to`. */
  readonly edges: readonly { readonly from: ObjectId; readonly to: ObjectId; readonly version: number }[];
}

/** Answers where objects come from, for the audit log, which stands below them. */
export interface ProvenanceQuery {
  /** Throws NO_SUCH_OBJECT. */
  provenance(object: ObjectId): Promise<ProvenanceGraph>;
}
export const ProvenanceQuery: Token<ProvenanceQuery> = token('ProvenanceQuery');
