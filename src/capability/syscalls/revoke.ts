import { inject, injectable } from 'inversify';
import { z } from 'zod';
import type { CapabilityId, Pid } from '../../base/ids.js';
import { parseSpec, reasonText } from '../../base/spec.js';
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
import { parseId } from '../named.js';

/** What a revocation has taken, as it was read right after it. */
export interface RevocationReport {
  readonly capability: CapabilityId;
  /** It and everything below it that had not been revoked before. */
  readonly count: number;
  readonly holders: number;
  /** Some of their ids, itself first. */
  readonly sample: readonly CapabilityId[];
}

const options = z.strictObject({ reason: reasonText.optional() });
const pageRows = 500;
const sampleMax = 10;

@injectable()
export class Revoke {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Units) private readonly units: Units,
    @inject(CapabilityRepository) private readonly repository: CapabilityRepository,
    @inject(HolderLookup) private readonly holders: HolderLookup,
    @inject(Derivation) private readonly drawing: Derivation,
    @inject(RevocationSweep) private readonly sweep: RevocationSweep,
    @inject(Revocations) private readonly revocations: Revocations,
  ) {}

  /**
   * Ends a capability and everything derived from it: its one record is the revocation, and the statuses below follow.
   * A process revokes what it holds and what came from it. Revoking again changes nothing. Throws NO_SUCH_CAPABILITY.
   */
  async run(caller: Caller, input: unknown, given: unknown = {}): Promise<RevocationReport> {
    const capability = parseId(input, 'capability');
    const { reason } = parseSpec(options, given, 'options');
    const call: Call = { caller, actor: 'host', action: 'capability.revoke' };
    const holder = await this.units.commit(call, async (tx, act) => {
      const record = await this.revocable(tx, caller, capability);
      if (record.status === 'revoked') return undefined;
      await this.revocations.revoke(tx, act, record, reason === undefined ? undefined : { reason });
      return record.holder;
    });
    if (holder === undefined) return { capability, count: 0, holders: 0, sample: [] };
    const report = await this.report(capability, holder);
    if (report.count > 1) this.sweep.wake();
    return report;
  }

  private async revocable(tx: ReadTx, caller: Caller, id: CapabilityId): Promise<CapabilityRecord> {
    const record = await this.repository.find(tx, id);
    if (caller.face === 'process') await this.holders.live(tx, caller.pid);
    if (record === undefined) throw noSuchCapability(id);
    if (caller.face === 'process' && !(await this.drawing.isInChain(tx, record, caller.pid)))
      throw noSuchCapability(id);
    return record;
  }

  /** In pages: a long list of descendants stalls nobody. Read before the sweep marks what is to be counted. */
  private async report(capability: CapabilityId, holder: Pid): Promise<RevocationReport> {
    const holders = new Set([holder]);
    const sample = [capability];
    let count = 1;
    const open = [capability];
    for (let parent = open.pop(); parent !== undefined; parent = open.pop()) {
      for (let after = 0, more = true; more; ) {
        const from = { parent, after };
        const page = await this.store.read((tx) => this.repository.liveBelow(tx, from.parent, from.after, pageRows));
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
