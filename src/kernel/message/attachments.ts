import { inject, injectable } from 'inversify';
import type { ApprovalId, Pid } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import type { HolderState } from '../../capability/holding/capability-repository.js';
import { Derivation } from '../../capability/holding/derivation.js';
import { Grants } from '../../capability/holding/grants.js';
import { HolderLookup } from '../../capability/holding/holders.js';
import { parsePattern } from '../../capability/resource/resource.js';
import { RuleGate } from '../../capability/rule/rule-gate.js';
import { ObjectRepository } from '../../memory/object/object-repository.js';
import type { Act } from '../../unit/act.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { noSuchObject } from '../syscalls/prepare-spawn.js';
import type { Attachment } from './message-body.js';
import type { MessageHandle } from './message-repository.js';

/** What a message hands on besides its text, and the approvals that this took. */
export interface Attached {
  readonly handles: readonly MessageHandle[];
  readonly approvals: readonly ApprovalId[];
}

/** Objects that are sent: each is a delegation of `read` to the receiver. */
@injectable()
export class Attachments {
  constructor(
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(HolderLookup) private readonly holders: HolderLookup,
    @inject(Grants) private readonly grants: Grants,
    @inject(Derivation) private readonly drawing: Derivation,
    @inject(RuleGate) private readonly rules: RuleGate,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /**
   * Throws NO_SUCH_OBJECT for what the sender may not hand on, as for what there is not; AMPLIFICATION,
   * CAPABILITY_DENIED where a rule keeps it, TREE_STOPPING, AskNeeded.
   */
  async hand(tx: WriteTx, act: Act, from: Pid, to: Pid, enclosures: readonly Attachment[]): Promise<Attached> {
    if (enclosures.length === 0) return { handles: [], approvals: [] };
    const giver = { pid: from, ...(await this.holders.findActive(tx, from)) };
    const receiver = { pid: to, ...(await this.holders.findActive(tx, to)) };
    const handles: MessageHandle[] = [];
    const approvals: ApprovalId[] = [];
    for (const enclosure of enclosures) {
      const { capability, taken } = await this.handOne(tx, act, giver, receiver, enclosure);
      handles.push({ ...enclosure, capability });
      approvals.push(...taken);
    }
    return { handles, approvals };
  }

  private async handOne(tx: WriteTx, act: Act, giver: Party, receiver: Party, { object: id }: Attachment) {
    const object = await this.objects.find(tx, id);
    if (object === undefined || object.deletedAt !== null) throw noSuchObject(id);
    const by = (await this.grants.findRead(tx, giver.pid, object, 'grant', act.at))?.record;
    if (by === undefined) throw noSuchObject(id);
    if (await this.drawing.isInChain(tx, by, receiver.pid)) {
      // What came from the receiver does not come back to it: it has its own reading.
      const own = (await this.grants.findRead(tx, receiver.pid, object, 'read', act.at))?.record;
      if (own === undefined) throw noSuchObject(id);
      return { capability: own.id, taken: [] };
    }
    const gift = { pattern: parsePattern(`object:${id}`), rights: ['read'] } as const;
    const taken = await this.rules.checkHandover(tx, act, giver, receiver, gift);
    const to = { pid: receiver.pid, generation: receiver.generation, at: act.at };
    const record = await this.grants.createReadShare(tx, id, by.id, to);
    await this.grants.insert(tx, [record]);
    const data = { capability: record.id, parent: by.id, from: giver.pid };
    this.recorder.event(tx, { type: 'capability.delegated', at: act.at, pid: receiver.pid, data });
    return { capability: record.id, taken };
  }
}

type Party = HolderState & { readonly pid: Pid };
