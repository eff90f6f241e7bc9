import { inject, injectable } from 'inversify';
import type { ApprovalId, Pid } from '../../base/ids.js';
import { parseId, parseSpec } from '../../base/spec.js';
import type { WriteTx } from '../../base/store.js';
import type { Act } from '../../unit/act.js';
import type { AuditAction } from '../../unit/actions.js';
import type { Call, Caller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import type { Capability } from '../holding/capability.js';
import { limitFacts, toCapability } from '../holding/capability-record.js';
import { answerFor, delegationSpec, parseDelegationSpecs } from '../holding/capability-spec.js';
import { Derivation, type Derived } from '../holding/derivation.js';
import { assertNotExpired } from '../holding/expiry.js';
import { Grants } from '../holding/grants.js';
import { HolderLookup } from '../holding/holders.js';
import { Receivers } from '../holding/receivers.js';
import { rightsOfMask, unionRights } from '../resource/rights.js';
import { factsOfApprovals, RuleGate } from '../rule/rule-gate.js';

/** The giver of a capability, and the approvals and the capability that giving it needed. */
interface Giver {
  readonly from: Pid;
  readonly generation: number;
  readonly approvals: ApprovalId[];
  readonly reachedBy?: string | undefined;
}

/** Derives a capability for another process (`delegate`) or for the holder itself (`derive`). */
@injectable()
export class Delegate {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(HolderLookup) private readonly holderLookup: HolderLookup,
    @inject(Receivers) private readonly receivers: Receivers,
    @inject(RuleGate) private readonly ruleGate: RuleGate,
    @inject(Derivation) private readonly derivation: Derivation,
    @inject(Grants) private readonly grants: Grants,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /**
   * One capability, or one for each of a list of resources. Throws AMPLIFICATION naming the field, CAPABILITY_DENIED where a rule does not bind the receiver or the giver may
   * not send to it, NO_SUCH_CAPABILITY for a `from` that the giver does not hold, PROCESS_TERMINATED, TREE_STOPPING.
   */
  async delegate(caller: Caller, giver: unknown, receiver: unknown, spec: unknown): Promise<Capability | Capability[]> {
    const from = parseId(giver, 'from');
    const to = parseId(receiver, 'to');
    const parsed = parseSpec(delegationSpec, spec, 'spec');
    const all = parseDelegationSpecs(parsed);
    const call: Call = { caller, actor: from, action: 'capability.delegate', target: to };
    return this.units.commit(call, async (tx, act) => {
      const giverState = await this.holderLookup.findActive(tx, from);
      const { holder, approval, reachedBy } = await this.receivers.reach(tx, act, from, to);
      const target = { pid: to, generation: holder.generation, at: act.at };
      const giverSubject = { pid: from, ...giverState };
      const decided: { derived: Derived; approvals: ApprovalId[] }[] = [];
      for (const stated of all) {
        const handover = { pattern: stated.pattern, rights: unionRights(stated.rights, stated.grantable) };
        const ofHandover = await this.ruleGate.checkHandover(tx, act, giverSubject, holder, handover);
        assertNotExpired(stated, act.at);
        const derived = await this.derivation.derive(tx, from, target, stated, 'delegate');
        decided.push({ derived, approvals: [...(approval === undefined ? [] : [approval]), ...ofHandover] });
      }
      const made: Capability[] = [];
      for (const { derived, approvals } of decided) {
        const data = { capability: derived.record.id, parent: derived.parent, from };
        this.recorder.recordEvent(tx, { type: 'capability.delegated', at: act.at, pid: to, data });
        const by = { from, generation: giverState.generation, approvals, reachedBy };
        made.push(await this.insert(tx, act, call.action, derived, by));
      }
      return answerFor(parsed.resource, made);
    });
  }

  /** As `delegate`. Throws AMPLIFICATION naming the field, NO_SUCH_CAPABILITY, PROCESS_TERMINATED, TREE_STOPPING. */
  async derive(caller: Caller, input: unknown, spec: unknown): Promise<Capability | Capability[]> {
    const pid = parseId(input, 'pid');
    const parsed = parseSpec(delegationSpec, spec, 'spec');
    const all = parseDelegationSpecs(parsed);
    const call: Call = { caller, actor: pid, action: 'capability.derive', target: pid };
    return this.units.commit(call, async (tx, act) => {
      const { generation } = await this.holderLookup.findActive(tx, pid);
      assertNotExpired(parsed, act.at);
      const target = { pid, generation, at: act.at };
      const decided: Derived[] = [];
      for (const stated of all) decided.push(await this.derivation.derive(tx, pid, target, stated, 'derive'));
      const made: Capability[] = [];
      for (const derived of decided) {
        const data = { capability: derived.record.id, parent: derived.parent };
        this.recorder.recordEvent(tx, { type: 'capability.derived', at: act.at, pid, data });
        made.push(await this.insert(tx, act, call.action, derived, { from: pid, generation, approvals: [] }));
      }
      return answerFor(parsed.resource, made);
    });
  }

  private async insert(
    tx: WriteTx,
    act: Act,
    action: AuditAction,
    { record, parent }: Derived,
    by: Giver,
  ): Promise<Capability> {
    await this.grants.insert(tx, [record]);
    const reached = by.reachedBy === undefined ? {} : { reachedBy: by.reachedBy };
    const rights = [...rightsOfMask(record.rights)];
    const facts = { from: by.from, parent, rights, ...limitFacts(record), ...reached };
    this.recorder.recordAudit(tx, {
      ...act,
      action,
      outcome: 'ok',
      target: record.holder,
      generation: by.generation,
      capability: record.id,
      approval: by.approvals[0],
      resource: record.resource,
      facts: { ...facts, ...factsOfApprovals(by.approvals) },
      subject: record.holder,
    });
    return toCapability(record, 'live');
  }
}
