import { inject, injectable } from 'inversify';
import { z } from 'zod';
import type { CapabilityId, Pid } from '../../base/ids.js';
import { parseId, parseSpec, reasonText } from '../../base/spec.js';
import { type ReadTx, Store } from '../../base/store.js';
import type { Call, Caller } from '../../unit/caller.js';
import { Units } from '../../unit/units.js';
import { noSuchCapability } from '../errors.js';
import type { CapabilityRecord } from '../holding/capability-record.js';
import { CapabilityRepository } from '../holding/capability-repository.js';
import { Derivation } from '../holding/derivation.js';
import { HolderLookup } from '../holding/holders.js';
import { RevocationSweep } from '../holding/revocation-sweep.js';
import { Revocations } from '../holding/revocations.js';

/** The extent of a revocation, as it was read right after it. */
export interface RevocationReport {
  /** The capability that was revoked. */
  readonly capability: CapabilityId;
  /** It and everything below it that had not been revoked before. */
  readonly count: number;
  /** The number of processes that held it or one derived from it. */
  readonly holders: number;
  /** Some of their ids, itself first. */
  readonly sample: readonly CapabilityId[];
}

const revokeOptions = z.strictObject({ reason: reasonText.optional() });
const pageRows = 500;
const sampleMax = 10;

@injectable()
export class Revoke {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Units) private readonly units: Units,
    @inject(CapabilityRepository) private readonly repository: CapabilityRepository,
    @inject(HolderLookup) private readonly holderLookup: HolderLookup,
    @inject(Derivation) private readonly derivation: Derivation,
    @inject(RevocationSweep) private readonly sweep: RevocationSweep,
    @inject(Revocations) private readonly revocations: Revocations,
  ) {}

  /**
   * Revokes a capability and with it everything derived from it; the sweep marks those later. A process can revoke what
   * it holds and what was derived from that. Revoking again changes nothing. Throws NO_SUCH_CAPABILITY.
   */
  async run(caller: Caller, input: unknown, options: unknown = {}): Promise<RevocationReport> {
    const capability = parseId(input, 'capability');
    const { reason } = parseSpec(revokeOptions, options, 'options');
    const call: Call = { caller, actor: 'host', action: 'capability.revoke' };
    const holder = await this.units.commit(call, async (tx, act) => {
      const record = await this.findRevocable(tx, caller, capability);
      if (record.status === 'revoked') return undefined;
      await this.revocations.revoke(tx, act, record, reason === undefined ? undefined : { reason });
      return record.holder;
    });
    if (holder === undefined) return { capability, count: 0, holders: 0, sample: [] };
    const report = await this.buildReport(capability, holder);
    if (report.count > 1) this.sweep.wake();
    return report;
  }

  private async findRevocable(tx: ReadTx, caller: Caller, id: CapabilityId): Promise<CapabilityRecord> {
    const record = await this.repository.find(tx, id);
    if (caller.face === 'process') await this.holderLookup.findLive(tx, caller.pid);
    if (record === undefined) throw noSuchCapability(id);
    if (caller.face === 'process' && !(await this.derivation.isInChain(tx, record, caller.pid)))
      throw noSuchCapability(id);
    return record;
  }

  /** Reads in pages, so that many descendants stall nobody, and before the sweep marks those that are counted. */
  private async buildReport(capability: CapabilityId, holder: Pid): Promise<RevocationReport> {
    const holders = new Set([holder]);
    const sample = [capability];
    let count = 1;
    const open = [capability];
    for (let parent = open.pop(); parent !== undefined; parent = open.pop()) {
      for (let after = 0, more = true; more; ) {
        const from = { parent, after };
        const page = await this.store.read((tx) =>
          this.repository.pageLiveBelow(tx, from.parent, from.after, pageRows),
        );
        for (const { id, holder: by, hasBelow } of page) {
          count++;
          holders.add(by);
          if (sample.length < sampleMax) sample.push(id);
          if (hasBelow) open.push(id);
        }
        after = page.at(-1)?.n ?? after;
        more = page.length === pageRows;
      }
    }
    return { capability, count, holders: holders.size, sample };
  }
}
