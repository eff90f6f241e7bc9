import { inject, injectable } from 'inversify';
import type { ReadTx } from '../../base/store.js';
import { Evaluator } from '../decision/evaluator.js';
import type { CapabilityStatus } from '../holding/capability.js';
import { CapabilityRepository, type HolderState } from '../holding/capability-repository.js';
import type { ApprovalRecord, ValidityFacts } from './approval.js';
import { ApprovalLookup } from './approval-lookup.js';

/** Looks up what an approval rests on. */
@injectable()
export class ApprovalValidity {
  constructor(
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(ApprovalLookup) private readonly clearance: ApprovalLookup,
  ) {}

  async of(tx: ReadTx, record: ApprovalRecord, now: number): Promise<ValidityFacts> {
    const holder = await this.capabilities.holder(tx, record.pid);
    const isWaived = holder !== undefined && record.decision === null && (await this.isWaived(tx, record, holder, now));
    return { holder, capability: await this.status(tx, record, now), isWaived, now };
  }

  private async isWaived(tx: ReadTx, record: ApprovalRecord, holder: HolderState, now: number): Promise<boolean> {
    const asked = { ...record, holder, dependsOn: { on: [], until: null } };
    return (await this.clearance.find(tx, asked, now)) !== undefined;
  }

  /** Where nothing is needed but the answer, nothing can die. A capability that was given away is the holder's no more. */
  private async status(tx: ReadTx, { capability, pid }: ApprovalRecord, now: number): Promise<CapabilityStatus> {
    if (capability === null || capability === 'kin') return 'live';
    const record = await this.capabilities.find(tx, capability);
    return record?.holder === pid ? this.evaluator.status(tx, record, now) : 'ended';
  }
}
