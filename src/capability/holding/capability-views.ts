import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { ReadTx } from '../../base/store.js';
import { Evaluator } from '../decision/evaluator.js';
import { noSuchCapability } from '../errors.js';
import type { Capability } from './capability.js';
import { type CapabilityRecord, toCapability } from './capability-record.js';
import { CapabilityRepository } from './capability-repository.js';

/** Capabilities as users see them, with the status that their whole chain gives them. */
@injectable()
export class CapabilityViews {
  constructor(
    @inject(Clock) private readonly clock: KernelClock,
    @inject(CapabilityRepository) private readonly repository: CapabilityRepository,
    @inject(Evaluator) private readonly evaluator: Evaluator,
  ) {}

  /** Throws NO_SUCH_CAPABILITY. */
  async findRecord(tx: ReadTx, id: string): Promise<CapabilityRecord> {
    const record = await this.repository.find(tx, id);
    if (record === undefined) throw noSuchCapability(id);
    return record;
  }

  async toView(tx: ReadTx, record: CapabilityRecord): Promise<Capability> {
    return toCapability(record, await this.evaluator.statusOf(tx, record, this.clock.peek()));
  }

  /** Itself first, up to the root grant. */
  async chainOf(tx: ReadTx, record: CapabilityRecord): Promise<Capability[]> {
    const chain = [await this.toView(tx, record)];
    for (let current = record; current.parent !== null; ) {
      current = await this.findRecord(tx, current.parent);
      chain.push(await this.toView(tx, current));
    }
    return chain;
  }
}
