import { inject, injectable } from 'inversify';
import type { ReadTx } from '../base/store.js';
import type { ApprovalRecord, Footing } from './approval.js';
import type { CapabilityStatus } from './capability.js';
import { CapabilityRepository } from './capability-repository.js';
import { Evaluator } from './evaluator.js';

/** Looks up what an approval rests on. */
@injectable()
export class ApprovalFootings {
  constructor(
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(Evaluator) private readonly evaluator: Evaluator,
  ) {}

  async of(tx: ReadTx, record: ApprovalRecord, now: number): Promise<Footing> {
    const holder = await this.capabilities.holder(tx, record.pid);
    return { holder, capability: await this.status(tx, record, now), now };
  }

  /** Where nothing is needed but the answer, nothing can die. A capability that was given away is the holder's no more. */
  private async status(tx: ReadTx, { capability, pid }: ApprovalRecord, now: number): Promise<CapabilityStatus> {
    if (capability === null || capability === 'kin') return 'live';
    const record = await this.capabilities.find(tx, capability);
    return record?.holder === pid ? this.evaluator.status(tx, record, now) : 'ended';
  }
}
