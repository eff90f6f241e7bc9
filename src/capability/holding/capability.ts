import type { CapabilityId, Pid } from '../../base/ids.js';
import type { Constraints } from '../constraint/atoms.js';
import type { Pattern } from '../resource/resource.js';
import type { Right } from '../resource/rights.js';

/** Whether a capability works, or why it does not. */
export type CapabilityStatus = 'live' | 'revoked' | 'spent' | 'expired' | 'ended';

/** Authority that one process holds. Whether it works also depends on its holder and on every one above it. */
export interface Capability {
  readonly id: CapabilityId;
  /** The process that holds it. */
  readonly holder: Pid;
  /** The pattern of resources that it is for, such as `fs:docs/**`. */
  readonly resource: string;
  /** The rights that it gives. */
  readonly rights: readonly Right[];
  /** Limits on the arguments of calls. */
  readonly constraints?: Constraints;
  /** The uses that are left; absent: unlimited. */
  readonly uses?: number;
  /** When it stops to work, in milliseconds since 1970. */
  readonly expiresAt?: number;
  /** Whether anything of it can be handed on; `grantable` says what. */
  readonly delegable: boolean;
  /** The rights that may be handed on. */
  readonly grantable?: readonly Right[];
  /** The capability it was derived from; null for a root grant. */
  readonly parent: CapabilityId | null;
  /** The number of delegations between the root grant and this one. */
  readonly depth: number;
  /** The greatest depth of the chain below the root grant. */
  readonly maxDepth: number;
  readonly status: CapabilityStatus;
  /** The pid of the process that delegated it, or `host`. */
  readonly grantedBy: string;
}

/** One pattern, or several: authority over each of them, as capabilities of their own. */
export type Resources = string | readonly string[];

/** The authority of a root grant. */
export interface CapabilitySpec<Resource extends Resources = string> {
  /** A pattern such as `tool:search` or `fs:docs/**`, or a list of patterns. */
  readonly resource: Resource;
  /** Rights that its kind of resource has: docs/tables.md#resource-kinds-and-rights. */
  readonly rights: readonly Right[];
  /** Limits on the arguments of calls; absent: none. */
  readonly constraints?: Constraints;
  /** The number of uses; absent: no limit. */
  readonly uses?: number;
  /** When it stops to work, in milliseconds since 1970; absent: never. */
  readonly expiresAt?: number;
  /** May be handed on whole: adds `grant`, and makes all its rights grantable. Default false. */
  readonly delegable?: boolean;
  /** With the right `grant`: the rights that may be handed on. Absent: the other rights. */
  readonly grantable?: readonly Right[];
  /** The largest number of further delegations; default 16. */
  readonly maxDepth?: number;
}

/** Authority to be handed on. Omitted constraints, expiry, uses and depth are those of the capability it is derived from. */
export interface DelegationSpec<Resource extends Resources = string> extends CapabilitySpec<Resource> {
  /** Absent: one is chosen that covers the rest. */
  readonly from?: CapabilityId;
}

/** The authority itself, without id, holder and status, in canonical form. */
export interface Authority {
  readonly pattern: Pattern;
  readonly rights: readonly Right[];
  readonly grantable: readonly Right[];
  readonly delegable: boolean;
  readonly constraints?: Constraints;
  readonly uses?: number;
  readonly expiresAt?: number;
  readonly maxDepth: number;
}

export const delegationDepthDefault = 16;
export const depthLimit = 64;
