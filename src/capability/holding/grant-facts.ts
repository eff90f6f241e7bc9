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
    authority: records.map(({ id, holder, parent, rights, grantedBy }) => ({
      capability: id,
      ...(holder === target ? {} : { to: holder }),
      from: grantedBy,
      rights: [...rightsOfMask(rights)],
      ...(parent === null ? {} : { parent }),
    })),
  };
}

/** The payload that belongs to `grantFacts`; none where there is no capability. */
export function grantPayload(records: readonly CapabilityRecord[]): { readonly payload?: JsonObject } {
  return records.length === 0 ? {} : { payload: { resources: records.map(({ resource }) => resource) } };
}
