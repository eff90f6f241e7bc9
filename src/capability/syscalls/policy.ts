import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { CapabilityError } from '../../base/errors.js';
import type { RuleId } from '../../base/ids.js';
import { parseId, parseSpec, reasonText } from '../../base/spec.js';
import { Store } from '../../base/store.js';
import { type Call, hostCaller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import { assertNotExpired } from '../holding/expiry.js';
import { HolderLookup } from '../holding/holders.js';
import { rightsOfMask } from '../resource/rights.js';
import { parseRule, type Rule, type RuleEffect, ruleSpec, toRule } from '../rule/rule.js';
import { RuleRepository } from '../rule/rule-repository.js';
import { RuleWriter } from '../rule/rule-writer.js';

const liftOptions = z.strictObject({ reason: reasonText.optional() });

/** Sets, lists and lifts the rules of the host. */
@injectable()
export class Policy {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Units) private readonly units: Units,
    @inject(RuleRepository) private readonly repository: RuleRepository,
    @inject(HolderLookup) private readonly holderLookup: HolderLookup,
    @inject(RuleWriter) private readonly ruleWriter: RuleWriter,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /**
   * Sets a rule on `pid` and everything spawned under it, or with `*` on every process.
   * Throws NO_SUCH_PROCESS, INVALID_INPUT.
   */
  async set(effect: RuleEffect, input: unknown, spec: unknown): Promise<Rule> {
    const pid = parseId(input, 'pid');
    const stated = parseRule(parseSpec(ruleSpec, spec, 'spec'));
    const call: Call = { caller: hostCaller, actor: 'host', action: `capability.${effect}`, target: pid };
    return this.units.commit(call, async (tx, act) => {
      assertNotExpired(stated, act.at);
      const n = pid === '*' ? 0 : (await this.holderLookup.findAny(tx, pid)).n;
      const rule = await this.ruleWriter.set(tx, effect, { pid, n }, stated, act.at);
      const { resource, reason, expiresAt } = rule;
      this.recorder.recordAudit(tx, {
        ...act,
        action: call.action,
        outcome: 'ok',
        target: pid,
        resource,
        facts: { rule: rule.id, rights: [...rightsOfMask(rule.rights)], expiresAt },
        ...(reason === null ? {} : { payload: { reason } }),
        ...(pid === '*' ? {} : { subject: pid }),
      });
      return toRule(rule);
    });
  }

  /** Those set on `pid` itself, or all of them, oldest first. */
  async rules(input?: unknown): Promise<Rule[]> {
    const pid = input === undefined ? undefined : parseId(input, 'pid');
    return (await this.store.read((tx) => this.repository.list(tx, pid))).map(toRule);
  }

  /** Throws NO_SUCH_RULE. */
  async lift(input: unknown, options: unknown = {}): Promise<void> {
    const id = parseId(input, 'rule');
    const { reason } = parseSpec(liftOptions, options, 'options');
    const call: Call = { caller: hostCaller, actor: 'host', action: 'capability.lift' };
    await this.units.commit(call, async (tx, act) => {
      const rule = await this.repository.find(tx, id);
      if (rule === undefined) throw noSuchRule(id);
      const { pid, resource } = rule;
      await this.ruleWriter.lift(tx, rule, act.at);
      this.recorder.recordAudit(tx, {
        ...act,
        action: call.action,
        outcome: 'ok',
        target: pid,
        resource,
        facts: { rule: id },
        ...(reason === undefined ? {} : { payload: { reason } }),
        ...(pid === '*' ? {} : { subject: pid }),
      });
    });
  }
}

function noSuchRule(rule: RuleId): CapabilityError {
  return new CapabilityError('NO_SUCH_RULE', `There is no rule ${JSON.stringify(rule)}.`, {
    facts: { rule },
    hint: 'capabilities.rules() shows those that there are.',
  });
}
