import type { Pid } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import { rightsOfMask } from '../resource/rights.js';
import type { CapabilityRecord } from './capability-record.js';

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
