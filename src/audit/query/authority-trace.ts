import type { ApprovalId, CapabilityId, Pid } from '../../base/ids.js';
import { type Token, token } from '../../base/token.js';
import type { AuditRecord } from '../audit-record.js';

/** A capability, as it stood when something was done by it. */
export interface AuthorityLink {
  readonly capability: CapabilityId;
  /** Who held it then. */
  readonly holder: Pid;
  readonly resource: string;
  readonly rights: readonly string[];
  readonly grantedBy: string;
}

/** What a person has approved. */
export interface AuthorityApproval {
  readonly approval: ApprovalId;
  readonly decision: string;
  readonly scope?: string;
  readonly by: string;
  readonly at: number;
}

/** By whose authority one thing was done. */
export interface AuthorityTrace {
  readonly record: AuditRecord;
  /** On whose authority: a pid, or `host`. */
  readonly actor: string;
  /** The capability that it was done by, up to the root grant; empty for what needs none, and for the host's own acts. */
  readonly chain: readonly AuthorityLink[];
  /** Where the authority comes from: the host's grant, a person's approval, the tie of kin, or the host itself. */
  readonly root: 'host' | 'kin' | 'kernel' | 'none' | AuthorityApproval;
  /** Of something that was refused: the capabilities of the process that came nearest, each up to its root grant. */
  readonly nearest?: readonly (readonly AuthorityLink[])[];
  /** The approval that waived a rule which asks, if there was one. */
  readonly waivedBy?: AuthorityApproval;
}

/** Answers by whose authority something was done, for the audit log, which stands below capabilities. */
export interface AuthorityQuery {
  trace(record: AuditRecord): Promise<AuthorityTrace>;
}
export const AuthorityQuery: Token<AuthorityQuery> = token('AuthorityQuery');
