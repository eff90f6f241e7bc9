import type { ApprovalId, CapabilityId, Pid } from '../../base/ids.js';
import { type Token, token } from '../../base/token.js';
import type { AuditRecord } from '../audit-record.js';

/** A capability at the time of the recorded call. */
export interface AuthorityLink {
  /** The id of the capability. */
  readonly capability: CapabilityId;
  /** Its holder at that time. */
  readonly holder: Pid;
  /** Its pattern of resources. */
  readonly resource: string;
  /** Its rights. */
  readonly rights: readonly string[];
  /** The pid of the process that delegated it, or `host`. */
  readonly grantedBy: string;
  /** The log tells of no such grant, as of grants with a spawn by older versions: the link is what the tables say. */
  readonly unrecorded?: true;
}

/** The answer of a person to an approval request. */
export interface AuthorityApproval {
  /** The id of the approval. */
  readonly approval: ApprovalId;
  /** The answer. */
  readonly decision: string;
  /** The scope of the answer. */
  readonly scope?: string;
  /** The name of the person, as it was given with the answer. */
  readonly by: string;
  /** The time of the answer. */
  readonly at: number;
}

/** The authority of one recorded call. */
export interface AuthorityTrace {
  /** The record of the call. */
  readonly record: AuditRecord;
  /** The pid that acted, or `host`. */
  readonly actor: string;
  /** The capability that was used, up to the root grant; empty for calls that need none, and for calls of the host. */
  readonly chain: readonly AuthorityLink[];
  /**
   * The origin of the authority: a grant of the host, an approval, being parent or child (`kin`), or the host itself.
   */
  readonly root: 'host' | 'kin' | 'kernel' | 'none' | AuthorityApproval;
  /** For a refused call: the capabilities of the process that nearly allowed it, each up to its root grant. */
  readonly nearest?: readonly (readonly AuthorityLink[])[];
  /** The approval that a rule with the effect `ask` had required. */
  readonly waivedBy?: AuthorityApproval;
}

/** Lets the audit log answer questions about authority, which is a layer above it. */
export interface AuthorityQuery {
  trace(record: AuditRecord): Promise<AuthorityTrace>;
}
export const AuthorityQuery: Token<AuthorityQuery> = token('AuthorityQuery');
