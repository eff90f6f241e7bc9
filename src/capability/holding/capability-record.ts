import type { CapabilityId, Pid } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import type { Constraints } from '../constraint/atoms.js';
import { storedPattern } from '../resource/resource.js';
import { maskOfRights, rightsOfMask } from '../resource/rights.js';
import type { DerivedAuthority } from './attenuate.js';
import { type Capability, type CapabilityStatus, depthLimit } from './capability.js';

/** One row of the capability table. Sets of rights are masks. */
export interface CapabilityRecord {
  readonly id: CapabilityId;
  readonly holder: Pid;
  /** The generation of the holder when it received the capability. */
  readonly generation: number;
  /** It is the one on the holder's own namespace, which survives exec. */
  readonly own: boolean;
  readonly resource: string;
  readonly rights: number;
  readonly grantable: number;
  readonly constraints: Constraints | null;
  readonly uses: number | null;
  readonly expiresAt: number | null;
  readonly maxDepth: number;
  readonly parent: CapabilityId | null;
  readonly depth: number;
  readonly status: CapabilityStatus;
  /** It was revoked, and not all capabilities below it are marked yet; null otherwise. */
  readonly sweeping: boolean | null;
  readonly grantedBy: string;
  readonly createdAt: number;
}

/** The capability as users see it. */
export function toCapability(record: CapabilityRecord, status: CapabilityStatus): Capability {
  const { id, holder, resource, parent, depth, maxDepth, grantedBy, constraints, uses, expiresAt } = record;
  const grantable = rightsOfMask(record.grantable);
  return {
    id,
    holder,
    resource,
    rights: rightsOfMask(record.rights),
    ...(constraints === null ? {} : { constraints }),
    ...(uses === null ? {} : { uses }),
    ...(expiresAt === null ? {} : { expiresAt }),
    delegable: grantable.length > 0,
    ...(grantable.length > 0 ? { grantable } : {}),
    parent,
    depth,
    maxDepth,
    status,
    grantedBy,
  };
}

/** The authority that others are derived from. */
export function toAuthority(record: CapabilityRecord): DerivedAuthority {
  const { constraints, uses, expiresAt, depth, maxDepth } = record;
  const grantable = rightsOfMask(record.grantable);
  return {
    pattern: storedPattern(record.resource),
    rights: rightsOfMask(record.rights),
    grantable,
    delegable: grantable.length > 0,
    ...(constraints === null ? {} : { constraints }),
    ...(uses === null ? {} : { uses }),
    ...(expiresAt === null ? {} : { expiresAt }),
    depth,
    maxDepth,
  };
}

/** Sorts the preferred capability first: unlimited before finite uses, later expiry, smaller depth, smaller id. */
export function byPreference(a: CapabilityRecord, b: CapabilityRecord): number {
  return (
    Number(a.uses !== null) - Number(b.uses !== null) ||
    (b.expiresAt ?? Number.MAX_VALUE) - (a.expiresAt ?? Number.MAX_VALUE) ||
    a.depth - b.depth ||
    (a.id < b.id ? -1 : 1)
  );
}

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

/**
 * Audit facts of capabilities that a process gets together with something else, as with its spawn. Their resources are text,
 * and stand in the payload in the same order. `target` is the process that the record is about.
 */
export function grantFacts(
  records: readonly CapabilityRecord[],
  target: Pid,
): { readonly authority: readonly JsonObject[] } {
  return {
    authority: records.map((record) => ({
      capability: record.id,
      ...(record.holder === target ? {} : { to: record.holder }),
      from: record.grantedBy,
      rights: [...rightsOfMask(record.rights)],
      ...(record.parent === null ? {} : { parent: record.parent }),
      ...limitFacts(record),
    })),
  };
}

/**
 * Audit facts of the limits of a new capability. Every record of a grant has them, also where there are no limits: records
 * of older versions do not, and what they granted may have had some.
 */
export function limitFacts({ expiresAt, uses }: Pick<CapabilityRecord, 'expiresAt' | 'uses'>): {
  readonly limits: JsonObject;
} {
  return { limits: { ...(expiresAt === null ? {} : { expiresAt }), ...(uses === null ? {} : { uses }) } };
}

/** The payload that belongs to `grantFacts`; none where there is no capability. */
export function grantPayload(records: readonly CapabilityRecord[]): { readonly payload?: JsonObject } {
  return records.length === 0 ? {} : { payload: { resources: records.map(({ resource }) => resource) } };
}
