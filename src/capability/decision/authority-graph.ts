import { strict as assert } from 'node:assert';
import type { CapabilityId, Pid } from '../../base/ids.js';
import type { CapabilityStatus } from '../holding/capability.js';
import type { CapabilityRecord } from '../holding/capability-record.js';
import type { HolderState } from '../holding/capability-repository.js';

/** A capability in the graph; its row is replaced when it changes. */
export interface GraphNode {
  record: CapabilityRecord;
}

/** Capabilities with everything above them, and the processes that hold them: what liveness is read from. */
export class AuthorityGraph {
  readonly slots = new Map<CapabilityId, GraphNode>();
  /** Undefined: there is no such process. */
  readonly holders = new Map<Pid, HolderState | undefined>();

  /**
   * live(c): its own status, its holder's state and generation, and the same of every one above it. Of a dead one, what
   * is nearest; but a revocation above it comes first, so that the reason is the same before and after the sweep.
   */
  status({ record }: GraphNode, now: number): CapabilityStatus {
    let nearest: CapabilityStatus = 'live';
    for (let at = record; ; ) {
      const status = ownStatus(at, this.holders.get(at.holder), now);
      if (status === 'revoked') return status;
      if (nearest === 'live') nearest = status;
      if (at.parent === null) return nearest;
      at = this.above(at.parent).record;
    }
  }

  /** Itself first, up to the root grant. */
  chain({ record }: GraphNode): CapabilityRecord[] {
    const chain = [record];
    for (let at = record; at.parent !== null; ) {
      at = this.above(at.parent).record;
      chain.push(at);
    }
    return chain;
  }

  private above(id: CapabilityId): GraphNode {
    const slot = this.slots.get(id);
    assert(slot !== undefined, `${id} is not in the graph`);
    return slot;
  }
}

function ownStatus(record: CapabilityRecord, holder: HolderState | undefined, now: number): CapabilityStatus {
  if (record.status !== 'live') return record.status;
  if (record.expiresAt !== null && record.expiresAt <= now) return 'expired';
  if (record.uses === 0) return 'spent';
  if (holder === undefined || !holder.live) return 'ended';
  return !record.own && record.generation < holder.authoritySince ? 'ended' : 'live';
}
