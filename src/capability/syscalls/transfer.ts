import { inject, injectable } from 'inversify';
import { CapabilityError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import { parseId } from '../../base/spec.js';
import type { ReadTx } from '../../base/store.js';
import { type Call, hostCaller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import { Evaluator } from '../decision/evaluator.js';
import { chainProblem, noSuchCapability, sourceNotLive } from '../errors.js';
import type { Capability } from '../holding/capability.js';
import { type CapabilityRecord, toAuthority, toCapability } from '../holding/capability-record.js';
import { CapabilityRepository } from '../holding/capability-repository.js';
import { Derivation } from '../holding/derivation.js';
import { HolderLookup } from '../holding/holders.js';
import { rightsBeyond, unionRights } from '../resource/rights.js';
import { RuleGate } from '../rule/rule-gate.js';

@injectable()
export class Transfer {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(CapabilityRepository) private readonly repository: CapabilityRepository,
    @inject(HolderLookup) private readonly holderLookup: HolderLookup,
    @inject(RuleGate) private readonly ruleGate: RuleGate,
    @inject(Evaluator) private readonly evaluator: Evaluator,
    @inject(Derivation) private readonly derivation: Derivation,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /**
   * Gives a capability away whole: same id, new holder, what was derived from it stays. Needs what delegating all of it
   * would need. Throws AMPLIFICATION, NO_SUCH_CAPABILITY, CAPABILITY_REVOKED, CAPABILITY_EXPIRED, CAPABILITY_DENIED,
   * PROCESS_TERMINATED, TREE_STOPPING.
   */
  async run(giver: unknown, receiver: unknown, input: unknown): Promise<Capability> {
    const from = parseId(giver, 'from');
    const to = parseId(receiver, 'to');
    const capability = parseId(input, 'capability');
    const call: Call = { caller: hostCaller, actor: from, action: 'capability.transfer', target: to };
    return this.units.commit(call, async (tx, act) => {
      const giverState = await this.holderLookup.findActive(tx, from);
      const receiver = await this.holderLookup.findActive(tx, to);
      const record = await this.findTransferable(tx, from, to, capability, act.at);
      const { pattern, rights, grantable } = toAuthority(record);
      const handover = { pattern, rights: unionRights(rights, grantable) };
      const approvals = await this.ruleGate.checkHandover(tx, act, { pid: from, ...giverState }, receiver, handover);
      await this.repository.setHolder(tx, record, { pid: to, generation: receiver.generation });
      this.recorder.recordEvent(tx, {
        type: 'capability.transferred',
        at: act.at,
        pid: to,
        data: { capability, from },
      });
      this.recorder.recordAudit(tx, {
        ...act,
        action: call.action,
        outcome: 'ok',
        target: to,
        generation: giverState.generation,
        capability,
        approval: approvals[0],
        resource: record.resource,
        facts: { from },
        subject: to,
      });
      return toCapability({ ...record, holder: to }, 'live');
    });
  }

  private async findTransferable(tx: ReadTx, from: Pid, to: Pid, id: string, now: number): Promise<CapabilityRecord> {
    const record = await this.repository.find(tx, id);
    if (record?.holder !== from) throw noSuchCapability(id);
    const status = await this.evaluator.statusOf(tx, record, now);
    if (status !== 'live') throw sourceNotLive(record, status);
    const { rights, grantable } = toAuthority(record);
    if (record.own) throw notTransferable(record, 'holder', 'a process keeps the capability on its own namespace');
    const beyond = rightsBeyond(rights, grantable);
    if (beyond.length > 0) throw notTransferable(record, 'rights', `${beyond.join(', ')} may not be granted`);
    if (record.depth >= record.maxDepth)
      throw notTransferable(record, 'maxDepth', `it is at depth ${record.depth}, its last`);
    if (await this.derivation.isInChain(tx, record, to)) throw notTransferable(record, 'to', chainProblem(to));
    return record;
  }
}

function notTransferable({ id, holder, resource }: CapabilityRecord, field: string, problem: string): CapabilityError {
  return new CapabilityError('AMPLIFICATION', `Capability ${id} cannot be given away: ${problem}.`, {
    facts: { field, from: holder, capability: id, resource },
    hint: `Delegate a part of it: capabilities.delegate('${holder}', …), or grant it with delegable: true.`,
  });
}
