import { inject, injectable } from 'inversify';
import type { ReadTx } from '../../base/store.js';
import { Evaluator } from '../decision/evaluator.js';
import type { CapabilityStatus } from '../holding/capability.js';
import { CapabilityRepository, type HolderState } from '../holding/capability-repository.js';
import type { ApprovalRecord, ValidityFacts } from './approval.js';
import { ApprovalLookup } from './approval-lookup.js';

/** Looks up the facts that decide whether an approval is valid. */
@injectable()
export class ApprovalValidity {
  constructor(
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(ApprovalLookup) private readonly approvalLookup: ApprovalLookup,
  ) {}

  async factsOf(tx: ReadTx, record: ApprovalRecord, now: number): Promise<ValidityFacts> {
    const holder = await this.capabilities.findHolder(tx, record.pid);
    const isWaived = holder !== undefined && record.decision === null && (await this.isWaived(tx, record, holder, now));
    return { holder, capability: await this.statusOfCapability(tx, record, now), isWaived, now };
  }

  private async isWaived(tx: ReadTx, record: ApprovalRecord, holder: HolderState, now: number): Promise<boolean> {
    const dependsOn = { processes: [], expiresAt: null };
    const request = { ...record, holder, expiresInMs: null, dependsOn };
    return (await this.approvalLookup.find(tx, request, now)) !== undefined;
  }

  /** `live` where no capability is needed. A capability that the process has given away counts as ended. */
  private async statusOfCapability(
    tx: ReadTx,
    { capability, pid }: ApprovalRecord,
    now: number,
  ): Promise<CapabilityStatus> {
    if (capability === null || capability === 'kin') return 'live';
    const record = await this.capabilities.find(tx, capability);
    return record?.holder === pid ? this.evaluator.statusOf(tx, record, now) : 'ended';
  }
}
