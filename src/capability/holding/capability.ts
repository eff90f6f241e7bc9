import type { CapabilityId, Pid } from '../../base/ids.js';
import type { Constraints } from '../constraint/atoms.js';
import type { Pattern } from '../resource/resource.js';
import type { Right } from '../resource/rights.js';

export type CapabilityStatus = 'live' | 'revoked' | 'spent' | 'expired' | 'ended';

/** Authority that one process holds. Whether it works also depends on its holder and on every one above it. */
export interface Capability {
  readonly id: CapabilityId;
  readonly holder: Pid;
  readonly resource: string;
  readonly rights: readonly Right[];
  readonly constraints?: Constraints;
  /** The uses that are left; absent: unlimited. */
  readonly uses?: number;
  readonly expiresAt?: number;
  /** Whether anything of it can be handed on; `grantable` says what. */
  readonly delegable: boolean;
  readonly grantable?: readonly Right[];
  /** The capability it was derived from; null for a root grant. */
  readonly parent: CapabilityId | null;
  readonly depth: number;
  /** The greatest depth of the chain below the root grant. */
  readonly maxDepth: number;
  readonly status: CapabilityStatus;
  readonly grantedBy: string;
}

/** One pattern, or several: authority over each of them, as capabilities of their own. */
export type Resources = string | readonly string[];

/** The authority of a root grant. */
export interface CapabilitySpec<Resource extends Resources = string> {
  readonly resource: Resource;
  readonly rights: readonly Right[];
  readonly constraints?: Constraints;
  readonly uses?: number;
  readonly expiresAt?: number;
  /** May be handed on whole: adds `grant`, and makes all its rights grantable. Default false. */
  readonly delegable?: boolean;
  /** With the right `grant`: the rights that may be handed on. Absent: the other rights. */
  readonly grantable?: readonly Right[];
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
