import { inject, injectable } from 'inversify';
import { CapabilityError } from '../../base/errors.js';
import type { ObjectId, Pid } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import type { Act, Caller } from '../../capability/act.js';
import type { CapabilityRecord } from '../../capability/capability-record.js';
import { Evaluator } from '../../capability/evaluator.js';
import { Grants } from '../../capability/grants.js';
import { Held } from '../../capability/held.js';
import { Holders } from '../../capability/holders.js';
import { HostRules, severalOf } from '../../capability/host-rules.js';
import { Receivers } from '../../capability/receivers.js';
import { RecordedUnits } from '../../capability/recorded-units.js';
import { parsePattern } from '../../capability/resource.js';
import { maskOfRights, parseRights, type Right } from '../../capability/rights.js';
import { MemoryJournal } from '../memory-journal.js';
import type { ObjectRecord } from '../object.js';
import { objectQuestion, unseen } from '../object-access.js';
import { mintHandle, type ObjectHandle } from '../object-handle.js';
import { ObjectRepository } from '../object-repository.js';
import { parse, refSpec, rightsSpec } from '../specs.js';

@injectable()
export class ShareObject {
  constructor(
    @inject(RecordedUnits) private readonly units: RecordedUnits,
    @inject(Holders) private readonly holders: Holders,
    @inject(Receivers) private readonly receivers: Receivers,
    @inject(HostRules) private readonly rules: HostRules,
    @inject(Held) private readonly held: Held,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(Grants) private readonly grants: Grants,
    @inject(ObjectRepository) private readonly objects: ObjectRepository,
    @inject(MemoryJournal) private readonly journal: MemoryJournal,
  ) {}

  /**
   * Gives rights on one object, which the receiver can put into its view. With `grant` among them it can hand the others
   * on. Throws NO_SUCH_OBJECT, AMPLIFICATION, CAPABILITY_DENIED where the receiver is out of reach or of a rule.
   */
  async run(caller: Caller, from: Pid, to: Pid, ref: unknown, given: unknown): Promise<ObjectHandle> {
    const id = parse(refSpec, ref, 'ref');
    const rights = parseRights('object', parse(rightsSpec, given, 'rights'));
    const call = { caller, actor: from, action: 'memory.share', target: to };
    return this.units.commit(call, async (tx, act) => {
      const state = await this.holders.active(tx, from);
      const { holder, approval } = await this.receivers.reach(tx, act, from, to);
      const object = await this.objects.find(tx, id);
      if (object === undefined || object.deletedAt !== null) throw unseen(from, id);
      const parent = await this.source(tx, act, from, object, rights);
      const gift = { pattern: parsePattern(`object:${id}`), rights };
      const passed = await this.rules.passGift(tx, act, { pid: from, ...state }, holder, gift);
      const approvals = [...(approval === undefined ? [] : [approval]), ...passed];
      const receiver = { pid: to, generation: holder.generation, at: act.at };
      const record = this.grants.shareOf(id, parent, rights, receiver);
      await this.grants.insert(tx, [record]);
      const data = { object: id, capability: record.id, from };
      const told = { event: 'object.shared', data, action: call.action } as const;
      const by = { capability: record.id, approval: approvals[0], generation: state.generation };
      const facts = { object: id, from, parent: parent.id, rights: [...rights], ...severalOf(approvals) };
      this.journal.did(tx, act, to, told, by, facts);
      return mintHandle(id, rights, record.id);
    });
  }

  /** What it is drawn from: a live capability that may grant all of it. */
  private async source(
    tx: WriteTx,
    { at }: Act,
    from: Pid,
    object: ObjectRecord,
    rights: readonly Right[],
  ): Promise<CapabilityRecord> {
    const mask = maskOfRights(rights);
    const live: CapabilityRecord[] = [];
    for (const record of await this.held.matching(tx, objectQuestion(from, 'read', object))) {
      if ((await this.evaluator.status(tx, record, at)) === 'live') live.push(record);
    }
    const granting = live.find(({ grantable }) => (grantable & mask) === mask);
    if (granting !== undefined) return granting;
    throw live.length === 0 ? unseen(from, object.id) : ungranted(from, object.id, rights);
  }
}

function ungranted(from: Pid, object: ObjectId, rights: readonly Right[]): CapabilityError {
  return new CapabilityError('AMPLIFICATION', `Process ${from} may not hand on ${rights.join(', ')} on ${object}.`, {
    facts: { field: 'rights', from, object, rights: [...rights] },
    hint: 'Share fewer rights, or grant it a capability whose rights may be handed on.',
  });
}
