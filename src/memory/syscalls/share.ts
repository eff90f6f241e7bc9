import { inject, injectable } from 'inversify';
import { CapabilityError, type InputError, invalidInput } from '../../base/errors.js';
import type { ObjectId, Pid } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import { Evaluator } from '../../capability/decision/evaluator.js';
import { inChain } from '../../capability/errors.js';
import { byPreference, type CapabilityRecord } from '../../capability/holding/capability-record.js';
import { Derivation } from '../../capability/holding/derivation.js';
import { Grants } from '../../capability/holding/grants.js';
import { HolderLookup } from '../../capability/holding/holders.js';
import { Holdings } from '../../capability/holding/holdings.js';
import { Receivers } from '../../capability/holding/receivers.js';
import { parsePattern } from '../../capability/resource/resource.js';
import { maskOfRights, parseRights, type Right } from '../../capability/resource/rights.js';
import { RuleGate, severalOf } from '../../capability/rule/rule-gate.js';
import type { Act } from '../../unit/act.js';
import type { Call, Caller } from '../../unit/caller.js';
import { Units } from '../../unit/units.js';
import { MemoryRecorder } from '../memory-recorder.js';
import type { ObjectRecord } from '../object/object.js';
import { unseen } from '../object/object-access.js';
import { mintHandle, type ObjectHandle } from '../object/object-handle.js';
import { objectQuestion } from '../object/object-question.js';
import { ObjectRepository } from '../object/object-repository.js';
import { parseMemorySpec, refSpec, rightsSpec } from '../specs.js';

@injectable()
export class ShareObject {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(HolderLookup) private readonly holders: HolderLookup,
    @inject(Receivers) private readonly receivers: Receivers,
    @inject(RuleGate) private readonly rules: RuleGate,
    @inject(Holdings) private readonly held: Holdings,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(Derivation) private readonly drawing: Derivation,
    @inject(Grants) private readonly grants: Grants,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(MemoryRecorder) private readonly journal: MemoryRecorder,
  ) {}

  /**
   * Gives rights on one object, which the receiver can put into its view. With `grant` among them it can hand the others
   * on. Throws NO_SUCH_OBJECT, AMPLIFICATION, CAPABILITY_DENIED where the receiver is out of reach or of a rule.
   */
  async run(caller: Caller, from: Pid, to: Pid, ref: unknown, given: unknown): Promise<ObjectHandle> {
    const id = parseMemorySpec(refSpec, ref, 'ref');
    const rights = parseRights('object', parseMemorySpec(rightsSpec, given, 'rights'));
    if (rights.every((right) => right === 'grant')) throw grantAlone();
    const call: Call = { caller, actor: from, action: 'memory.share', target: to };
    return this.units.commit(call, async (tx, act) => {
      const state = await this.holders.active(tx, from);
      const { holder, approval, reachedBy } = await this.receivers.reach(tx, act, from, to);
      const object = await this.objects.find(tx, id);
      if (object === undefined || object.deletedAt !== null) throw unseen(from, id);
      const parent = await this.source(tx, act, from, to, object, rights);
      const gift = { pattern: parsePattern(`object:${id}`), rights };
      const passed = await this.rules.passGift(tx, act, { pid: from, ...state }, holder, gift);
      const approvals = [...(approval === undefined ? [] : [approval]), ...passed];
      const receiver = { pid: to, generation: holder.generation, at: act.at };
      const record = this.grants.shareOf(id, parent, rights, receiver);
      await this.grants.insert(tx, [record]);
      const data = { object: id, capability: record.id, from };
      const told = { event: 'object.shared', data, action: call.action } as const;
      const by = { capability: record.id, approval: approvals[0], generation: state.generation };
      const reached = reachedBy === undefined ? {} : { reachedBy };
      const facts = { object: id, from, parent: parent.id, rights: [...rights], ...reached, ...severalOf(approvals) };
      this.journal.did(tx, act, to, told, by, facts);
      return mintHandle(id, rights, record.id);
    });
  }

  /** What it is drawn from: the best live capability that may grant all of it, and did not come from the receiver. */
  private async source(
    tx: WriteTx,
    { at }: Act,
    from: Pid,
    to: Pid,
    object: ObjectRecord,
    rights: readonly Right[],
  ): Promise<CapabilityRecord> {
    const mask = maskOfRights(rights);
    const live: CapabilityRecord[] = [];
    for (const record of await this.held.matching(tx, objectQuestion(from, 'read', object))) {
      if ((await this.evaluator.status(tx, record, at)) === 'live') live.push(record);
    }
    if (live.length === 0) throw unseen(from, object.id);
    const granting = live.filter(({ grantable }) => (grantable & mask) === mask).sort(byPreference);
    for (const record of granting) if (!(await this.drawing.isInChain(tx, record, to))) return record;
    const [refused] = granting;
    throw ungranted(from, object.id, rights, refused === undefined ? undefined : to);
  }
}

/** `back`: it may hand them on, but not to this process. */
function ungranted(from: Pid, object: ObjectId, rights: readonly Right[], back: Pid | undefined): CapabilityError {
  const detail = back === undefined ? '' : `: ${inChain(back)}`;
  const text = `Process ${from} may not hand on ${rights.join(', ')} on ${object}${detail}.`;
  return new CapabilityError('AMPLIFICATION', text, {
    facts: { field: back === undefined ? 'rights' : 'to', from, object, rights: [...rights] },
    hint: 'Share fewer rights, or grant it a capability whose rights may be handed on.',
  });
}

function grantAlone(): InputError {
  return invalidInput('rights', 'has nothing beside "grant"', 'Name the rights that may be handed on.');
}
