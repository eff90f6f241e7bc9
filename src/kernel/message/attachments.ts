import { inject, injectable } from 'inversify';
import type { ApprovalId, CapabilityId, Pid } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import type { CapabilityRecord } from '../../capability/holding/capability-record.js';
import type { HolderState } from '../../capability/holding/capability-repository.js';
import { Derivation } from '../../capability/holding/derivation.js';
import { Grants } from '../../capability/holding/grants.js';
import { HolderLookup } from '../../capability/holding/holders.js';
import { parsePattern } from '../../capability/resource/resource.js';
import { RuleGate } from '../../capability/rule/rule-gate.js';
import type { Act } from '../../unit/act.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { noSuchObject, ShareableObjects } from '../process/shareable-objects.js';
import type { Attachment } from './message-body.js';
import type { MessageHandle } from './message-repository.js';

/** The objects of a message with the capabilities that the receiver got, and the approvals that this used. */
export interface Attached {
  readonly handles: readonly MessageHandle[];
  /** The capabilities that were made for it; a receiver that could read an object already got none. */
  readonly granted: ReadonlyMap<CapabilityId, CapabilityRecord>;
  readonly approvals: readonly ApprovalId[];
}

/** Attaches objects to messages: each one is a delegation of `read` to the receiver. */
@injectable()
export class Attachments {
  constructor(
    @inject(ShareableObjects) private readonly objects: ShareableObjects,
    @inject(HolderLookup) private readonly holders: HolderLookup,
    @inject(Grants) private readonly grants: Grants,
    @inject(Derivation) private readonly derivation: Derivation,
    @inject(RuleGate) private readonly rules: RuleGate,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /**
   * Throws NO_SUCH_OBJECT for an object that does not exist or that the sender may not hand on, AMPLIFICATION,
   * CAPABILITY_DENIED where a rule forbids it, TREE_STOPPING, ApprovalNeeded.
   */
  async attach(
    tx: WriteTx,
    act: Act,
    from: Pid | 'host',
    to: Pid,
    attachments: readonly Attachment[],
  ): Promise<Attached> {
    if (attachments.length === 0) return { handles: [], granted: new Map(), approvals: [] };
    if (from === 'host') return this.attachAsHost(tx, act, to, attachments);
    const giver = { pid: from, ...(await this.holders.findActive(tx, from)) };
    const receiver = { pid: to, ...(await this.holders.findActive(tx, to)) };
    const handles: MessageHandle[] = [];
    const granted = new Map<CapabilityId, CapabilityRecord>();
    const approvals: ApprovalId[] = [];
    for (const attachment of attachments) {
      const { capability, record, approvals: used } = await this.attachOne(tx, act, giver, receiver, attachment);
      handles.push({ ...attachment, capability });
      if (record !== undefined) granted.set(capability, record);
      approvals.push(...used);
    }
    return { handles, granted, approvals };
  }

  /** The host gives every object to read. */
  private async attachAsHost(tx: WriteTx, act: Act, to: Pid, attachments: readonly Attachment[]): Promise<Attached> {
    const { generation } = await this.holders.findActive(tx, to);
    const handles: MessageHandle[] = [];
    const granted = new Map<CapabilityId, CapabilityRecord>();
    for (const attachment of attachments) {
      const { id } = await this.objects.get(tx, attachment.object);
      const record = await this.grants.createReadShare(tx, id, 'host', { pid: to, generation, at: act.at });
      await this.grants.insert(tx, [record]);
      handles.push({ ...attachment, capability: record.id });
      granted.set(record.id, record);
      const data = { capability: record.id };
      this.recorder.recordEvent(tx, { type: 'capability.granted', at: act.at, pid: to, data });
    }
    return { handles, granted, approvals: [] };
  }

  private async attachOne(tx: WriteTx, act: Act, giver: Party, receiver: Party, { object: id }: Attachment) {
    const object = await this.objects.get(tx, id);
    const by = await this.objects.getGrant(tx, giver.pid, object, act.at);
    if (await this.derivation.isInChain(tx, by, receiver.pid)) {
      // An object that came from the receiver is not delegated back: the receiver has a capability of its own on it.
      const own = (await this.grants.findRead(tx, receiver.pid, object, 'read', act.at))?.record;
      if (own === undefined) throw noSuchObject(id);
      return { capability: own.id, record: undefined, approvals: [] };
    }
    const handover = { pattern: parsePattern(`object:${id}`), rights: ['read'] } as const;
    const approvals = await this.rules.checkHandover(tx, act, giver, receiver, handover);
    const to = { pid: receiver.pid, generation: receiver.generation, at: act.at };
    const record = await this.grants.createReadShare(tx, id, by.id, to);
    await this.grants.insert(tx, [record]);
    const data = { capability: record.id, parent: by.id, from: giver.pid };
    this.recorder.recordEvent(tx, { type: 'capability.delegated', at: act.at, pid: receiver.pid, data });
    return { capability: record.id, record, approvals };
  }
}

type Party = HolderState & { readonly pid: Pid };
