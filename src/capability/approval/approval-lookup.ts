import { inject, injectable } from 'inversify';
import type { ApprovalId, Pid } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { CapabilityRepository } from '../holding/capability-repository.js';
import { type ApprovalRecord, type ApprovalRequest, isSameCall, isValid, waives } from './approval.js';
import { ApprovalNeeded } from './approval-errors.js';
import { ApprovalRepository } from './approval-repository.js';

/** Finds the answer that lets something pass which a rule wants a person to be asked about. */
@injectable()
export class ApprovalLookup {
  constructor(
    @inject(ApprovalRepository) private readonly approvals: ApprovalRepository,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /** In the unit of the effect: an answer for one time is used up with it. Throws AskNeeded. */
  async authorize(tx: WriteTx, ask: ApprovalRequest, at: number): Promise<ApprovalId> {
    const found = await this.needed(tx, ask, at);
    if (found.decision === 'once') await this.use(tx, found.id, ask.pid, at);
    return found.id;
  }

  /** Marks an answer as used up, or as told to `pid`. The record is the caller's to write. */
  async use(tx: WriteTx, approval: ApprovalId, pid: Pid, at: number): Promise<void> {
    await this.approvals.use(tx, approval, at);
    this.recorder.event(tx, { type: 'approval.used', at, pid, data: { approval } });
  }

  /** Before the unit of the effect: nothing is used up. Throws AskNeeded. */
  async needed(tx: ReadTx, ask: ApprovalRequest, now: number): Promise<ApprovalRecord> {
    const found = await this.find(tx, ask, now);
    if (found === undefined) throw new ApprovalNeeded(ask);
    return found;
  }

  /** An answer for always goes before one that would be used up. */
  async find(tx: ReadTx, ask: ApprovalRequest, now: number): Promise<ApprovalRecord | undefined> {
    let once: ApprovalRecord | undefined;
    for (const record of await this.approvals.open(tx, [ask.holder.n, ...ask.holder.path])) {
      if (record.decision === 'always' && waives(record, ask) && (await this.stillHolds(tx, record, now)))
        return record;
      if (record.decision === 'once' && isSameCall(record, ask)) once ??= record;
    }
    return once;
  }

  /** Another process's answer holds while that process and its program do; the capability is the caller's to look at. */
  private async stillHolds(tx: ReadTx, record: ApprovalRecord, now: number): Promise<boolean> {
    const holder = await this.capabilities.holder(tx, record.pid);
    return isValid(record, { holder, capability: 'live', isWaived: false, now });
  }
}
