import { inject, injectable } from 'inversify';
import { CapabilityError, type InputError, invalidInput } from '../../base/errors.js';
import type { ObjectId, Pid } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import { Evaluator } from '../../capability/decision/evaluator.js';
import { chainProblem } from '../../capability/errors.js';
import { byPreference, type CapabilityRecord, limitFacts } from '../../capability/holding/capability-record.js';
import { Derivation } from '../../capability/holding/derivation.js';
import { Grants } from '../../capability/holding/grants.js';
import { HolderLookup } from '../../capability/holding/holders.js';
import { Holdings } from '../../capability/holding/holdings.js';
import { Receivers } from '../../capability/holding/receivers.js';
import { parsePattern } from '../../capability/resource/resource.js';
import { maskOfRights, parseRights, type Right } from '../../capability/resource/rights.js';
import { factsOfApprovals, RuleGate } from '../../capability/rule/rule-gate.js';
import type { Act } from '../../unit/act.js';
import type { Call, Caller } from '../../unit/caller.js';
import { Units } from '../../unit/units.js';
import { MemoryRecorder } from '../memory-recorder.js';
import { mintHandle, type ObjectHandle, type ObjectRecord } from '../object/object.js';
import { noVisibleObject, objectQuestion } from '../object/object-access.js';
import { ObjectRepository } from '../object/object-repository.js';
import { parseMemorySpec, refSpec, rightsSpec } from '../specs.js';

@injectable()
export class ShareObject {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(HolderLookup) private readonly holders: HolderLookup,
    @inject(Receivers) private readonly receivers: Receivers,
    @inject(RuleGate) private readonly rules: RuleGate,
    @inject(Holdings) private readonly holdings: Holdings,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(Derivation) private readonly derivation: Derivation,
    @inject(Grants) private readonly grants: Grants,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(MemoryRecorder) private readonly recorder: MemoryRecorder,
  ) {}

  /**
   * Grants another process rights on one object, which it can then add to its view. With `grant` among them it can hand the
   * others on. Throws NO_SUCH_OBJECT, AMPLIFICATION, CAPABILITY_DENIED where the receiver is out of reach or a rule denies.
   */
  async run(caller: Caller, from: Pid, to: Pid, ref: unknown, rightsInput: unknown): Promise<ObjectHandle> {
    const id = parseMemorySpec(refSpec, ref, 'ref');
    const rights = parseRights('object', parseMemorySpec(rightsSpec, rightsInput, 'rights'));
    if (rights.every((right) => right === 'grant')) throw grantAlone();
    const call: Call = { caller, actor: from, action: 'memory.share', target: to };
    return this.units.commit(call, async (tx, act) => {
      const state = await this.holders.findActive(tx, from);
      const { holder, approval, reachedBy } = await this.receivers.reach(tx, act, from, to);
      const object = await this.objects.find(tx, id);
      if (object === undefined || object.deletedAt !== null) throw noVisibleObject(from, id);
      const parent = await this.findParent(tx, act, from, to, object, rights);
      const handover = { pattern: parsePattern(`object:${id}`), rights };
      const ruleApprovals = await this.rules.checkHandover(tx, act, { pid: from, ...state }, holder, handover);
      const approvals = [...(approval === undefined ? [] : [approval]), ...ruleApprovals];
      const receiver = { pid: to, generation: holder.generation, at: act.at };
      const record = this.grants.createShare(id, parent, rights, receiver);
      await this.grants.insert(tx, [record]);
      const data = { object: id, capability: record.id, from };
      const authority = { capability: record.id, approval: approvals[0], generation: state.generation };
      const reachFact = reachedBy === undefined ? {} : { reachedBy };
      const facts = {
        object: id,
        from,
        parent: parent.id,
        rights: [...rights],
        ...limitFacts(record),
        ...reachFact,
        ...factsOfApprovals(approvals),
      };
      this.recorder.recordShare(tx, act, to, data, authority, facts);
      return mintHandle(id, rights, record.id);
    });
  }

  /** The best live capability that can grant all the rights and was not derived from one of the receiver. */
  private async findParent(
    tx: WriteTx,
    { at }: Act,
    from: Pid,
    to: Pid,
    object: ObjectRecord,
    rights: readonly Right[],
  ): Promise<CapabilityRecord> {
    const mask = maskOfRights(rights);
    const readable = await this.holdings.findMatching(tx, objectQuestion(from, 'read', object));
    const live = await this.evaluator.filterLive(tx, readable, at);
    if (live.length === 0) throw noVisibleObject(from, object.id);
    const granting = live.filter(({ grantable }) => (grantable & mask) === mask).sort(byPreference);
    for (const record of granting) if (!(await this.derivation.isInChain(tx, record, to))) return record;
    const [refused] = granting;
    throw notGrantable(from, object.id, rights, refused === undefined ? undefined : to);
  }
}

/** `receiver`: given when the rights can be granted, but not to this process. */
function notGrantable(
  from: Pid,
  object: ObjectId,
  rights: readonly Right[],
  receiver: Pid | undefined,
): CapabilityError {
  const detail = receiver === undefined ? '' : `: ${chainProblem(receiver)}`;
  const text = `Process ${from} may not hand on ${rights.join(', ')} on ${object}${detail}.`;
  return new CapabilityError('AMPLIFICATION', text, {
    facts: { field: receiver === undefined ? 'rights' : 'to', from, object, rights: [...rights] },
    hint: 'Share fewer rights, or grant it a capability whose rights may be handed on.',
  });
}

function grantAlone(): InputError {
  return invalidInput('rights', 'has nothing beside "grant"', 'Name the rights that may be handed on.');
}
