import type { CapabilityId, Pid } from '../../base/ids.js';
import { maskOfRights } from '../resource/rights.js';
import type { DerivedAuthority } from './attenuate.js';
import { depthLimit } from './capability.js';
import type { CapabilityRecord } from './capability-record.js';

/** The process that receives a capability, with its generation and the time. */
export interface Receiver {
  readonly pid: Pid;
  readonly generation: number;
  readonly at: number;
}

/** The record of a capability without limits, of which every right can be handed on. */
export function newUnlimitedRecord(
  id: CapabilityId,
  to: Receiver,
  resource: string,
  rights: number,
  { own, grantedBy }: { readonly own: boolean; readonly grantedBy: string },
): CapabilityRecord {
  return {
    id,
    holder: to.pid,
    generation: to.generation,
    own,
    resource,
    rights,
    grantable: rights,
    constraints: null,
    uses: null,
    expiresAt: null,
    maxDepth: depthLimit,
    parent: null,
    depth: 0,
    status: 'live',
    sweeping: null,
    grantedBy,
    createdAt: to.at,
  };
}

/** The record of an authority that is derived from `parent`; null for a root grant. */
export function newDerivedRecord(
  id: CapabilityId,
  to: Receiver,
  authority: DerivedAuthority,
  parent: CapabilityId | null,
  grantedBy: string,
): CapabilityRecord {
  return {
    id,
    holder: to.pid,
    generation: to.generation,
    own: false,
    resource: authority.pattern.text,
    rights: maskOfRights(authority.rights),
    grantable: maskOfRights(authority.grantable),
    constraints: authority.constraints ?? null,
    uses: authority.uses ?? null,
    expiresAt: authority.expiresAt ?? null,
    maxDepth: authority.maxDepth,
    parent,
    depth: authority.depth,
    status: 'live',
    sweeping: null,
    grantedBy,
    createdAt: to.at,
  };
}
