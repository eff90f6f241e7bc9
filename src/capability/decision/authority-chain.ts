import type { AuthorityLink } from '../../audit/query/authority-trace.js';
import type { CapabilityId, Pid } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import type { CapabilityRecord } from '../holding/capability-record.js';
import type { CapabilityRepository } from '../holding/capability-repository.js';
import { rightsOfMask } from '../resource/rights.js';
import { type CapabilityHistory, holderAt, type RecordedCapability } from './capability-history.js';

/** A capability and those that it was derived from. */
export interface AuthorityChain {
  readonly links: readonly AuthorityLink[];
  /** The links that the log tells of. */
  readonly recorded: readonly RecordedCapability[];
  /** Whether the root was reached. */
  readonly isWhole: boolean;
}

/** The chain of the capability `id`, as of record `seq`. */
export async function authorityChain(
  tx: ReadTx,
  capabilities: CapabilityRepository,
  history: CapabilityHistory,
  { id: first, near: firstNear, seq }: ChainStart,
): Promise<AuthorityChain> {
  const links: AuthorityLink[] = [];
  const recordedLinks: RecordedCapability[] = [];
  let near = firstNear;
  for (let id: CapabilityId | null = first; id !== null; ) {
    const row: CapabilityRecord | undefined = await capabilities.find(tx, id);
    const recorded = await history.find(id, row, near);
    if (recorded !== undefined) {
      const { resource, rights, grantedBy, parent } = recorded.grant;
      links.push({ capability: id, holder: holderAt(recorded, seq), resource, rights, grantedBy });
      recordedLinks.push(recorded);
      id = parent;
      near = [grantedBy];
    } else if (row !== undefined) {
      const { holder, resource, grantedBy } = row;
      const rights = rightsOfMask(row.rights);
      links.push({ capability: id, holder, resource, rights, grantedBy, unrecorded: true });
      id = row.parent;
      near = [grantedBy];
    } else return { links, recorded: recordedLinks, isWhole: false };
    // Rows can be made to refer to each other.
    if (links.some(({ capability }) => capability === id)) return { links, recorded: recordedLinks, isWhole: false };
  }
  return { links, recorded: recordedLinks, isWhole: true };
}

interface ChainStart {
  readonly id: CapabilityId;
  /** Processes that may have held it. */
  readonly near: readonly (Pid | undefined)[];
  readonly seq: number;
}
