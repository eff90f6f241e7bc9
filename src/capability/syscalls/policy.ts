import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { Clock, type KernelClock } from '../../base/clock.js';
import { CapabilityError, type InputError, invalidInput } from '../../base/errors.js';
import type { RuleId } from '../../base/ids.js';
import { parseId, parseSpec, reasonText } from '../../base/spec.js';
import { type ReadTx, Store, type WriteTx } from '../../base/store.js';
import type { Act } from '../../unit/act.js';
import { type Call, hostCaller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import { answerFor } from '../holding/capability-spec.js';
import { assertNotExpired } from '../holding/expiry.js';
import { HolderLookup } from '../holding/holders.js';
import { rightsOfMask } from '../resource/rights.js';
import {
  listedRuleId,
  parseRules,
  type Rule,
  type RuleEffect,
  type RuleRecord,
  ruleSpec,
  type StatedRule,
  toRule,
} from '../rule/rule.js';
import { RuleRepository } from '../rule/rule-repository.js';
import { type RuleTarget, RuleWriter } from '../rule/rule-writer.js';

const rulesOptions = z.strictObject({ all: z.boolean().default(false) });
const liftOptions = z.strictObject({ reason: reasonText.optional() });

/** Sets, lists and lifts the rules of the host. */
@injectable()
export class Policy {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(Units) private readonly units: Units,
    @inject(RuleRepository) private readonly repository: RuleRepository,
    @inject(HolderLookup) private readonly holderLookup: HolderLookup,
    @inject(RuleWriter) private readonly ruleWriter: RuleWriter,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /**
   * Sets a rule on `pid` and everything spawned under it, or with `*` on every process; of a list of resources one rule each,
   * all or none. The same rule under the same id again is that rule. Throws NO_SUCH_PROCESS, INVALID_INPUT, CONFLICT.
   */
  async set(effect: RuleEffect, input: unknown, spec: unknown): Promise<Rule | Rule[]> {
    const pid = parseId(input, 'pid');
    const parsed = parseSpec(ruleSpec, spec, 'spec');
    // Throws before the unit.
    parseRules(parsed);
    const call: Call = { caller: hostCaller, actor: 'host', action: `capability.${effect}`, target: pid };
    return this.units.commit(call, async (tx, act) => {
      const n = pid === '*' ? 0 : (await this.holderLookup.findAny(tx, pid)).n;
      return answerFor(parsed.resource, await this.setInUnit(tx, act, effect, { pid, n }, parsed));
    });
  }

  /** As `set`, in the unit of the caller; one rule for each resource. `path` names the spec. Throws INVALID_INPUT, CONFLICT. */
  async setInUnit(
    tx: WriteTx,
    act: Act,
    effect: RuleEffect,
    target: RuleTarget,
    spec: z.output<typeof ruleSpec>,
    path?: string,
  ): Promise<Rule[]> {
    const stated = parseRules(spec);
    if (effect === 'deny' && spec.expiresInMs !== undefined) throw denyWithoutQuestion(path);
    const existing = spec.id === undefined ? [] : await this.findExisting(tx, spec.id, effect, target.n, stated);
    if (existing.length > 0) return existing.map(toRule);
    assertNotExpired(spec, act.at, path);
    const set: Rule[] = [];
    for (const one of stated) set.push(await this.setOne(tx, act, effect, target, one));
    return set;
  }

  /** Those set on `pid` itself, or on any, oldest first; those that bind nobody any more only with `all`. */
  async rules(input?: unknown, options: unknown = {}): Promise<Rule[]> {
    const pid = input === undefined ? undefined : parseId(input, 'pid');
    const { all } = parseSpec(rulesOptions, options, 'options');
    const records = await this.store.read((tx) =>
      all ? this.repository.list(tx, pid) : this.repository.listBinding(tx, pid, this.clock.peek()),
    );
    return records.map(toRule);
  }

  /** The rules that were set under this id; none when it is free. Throws CONFLICT unless they are exactly those of the spec. */
  private async findExisting(
    tx: ReadTx,
    id: RuleId,
    effect: RuleEffect,
    n: number,
    stated: readonly StatedRule[],
  ): Promise<RuleRecord[]> {
    const ids = stated.flatMap((rule) => rule.id ?? []);
    const found: RuleRecord[] = [];
    // The id by itself, and the one after the last, are those of a spec with another number of resources.
    for (const one of new Set([...ids, id, listedRuleId(id, 0), listedRuleId(id, stated.length)])) {
      const rule = await this.repository.find(tx, one);
      if (rule !== undefined) found.push(rule);
    }
    const isSame = (rule: RuleRecord, index: number) =>
      rule.effect === effect && rule.n === n && isSameRule(rule, stated[index]);
    if (found.length === 0 || (found.length === stated.length && found.every(isSame))) return found;
    throw ruleIdTaken(id, found);
  }

  private async setOne(
    tx: WriteTx,
    act: Act,
    effect: RuleEffect,
    target: RuleTarget,
    stated: StatedRule,
  ): Promise<Rule> {
    const rule = await this.ruleWriter.set(tx, effect, target, stated, act.at);
    const { pid, resource, reason, expiresAt } = rule;
    this.recorder.recordAudit(tx, {
      ...act,
      action: `capability.${effect}`,
      outcome: 'ok',
      target: pid,
      resource,
      facts: { rule: rule.id, rights: [...rightsOfMask(rule.rights)], expiresAt, ...questionTimeFacts(rule) },
      ...(reason === null ? {} : { payload: { reason } }),
      ...(pid === '*' ? {} : { subject: pid }),
    });
    return toRule(rule);
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

function questionTimeFacts({ expiresInMs }: RuleRecord): { expiresInMs?: number } {
  return expiresInMs === null ? {} : { expiresInMs };
}

function denyWithoutQuestion(path = 'spec'): InputError {
  const hint = 'Only rules of capabilities.ask raise questions; expiresAt ends a rule itself.';
  return invalidInput(`${path}.expiresInMs`, 'is of no use to a rule that denies', hint);
}

function isSameRule(rule: RuleRecord, stated: StatedRule | undefined): boolean {
  return (
    rule.id === stated?.id &&
    rule.resource === stated.resource &&
    rule.rights === stated.rights &&
    rule.reason === stated.reason &&
    rule.expiresAt === stated.expiresAt &&
    rule.expiresInMs === stated.expiresInMs
  );
}

function ruleIdTaken(id: RuleId, found: readonly RuleRecord[]): CapabilityError {
  return new CapabilityError('CONFLICT', `The id ${id} was used for another rule.`, {
    facts: { id, rules: found.map((rule) => rule.id) },
    hint: 'Use another id, or lift the rule first: capabilities.lift(id).',
  });
}

function noSuchRule(rule: RuleId): CapabilityError {
  return new CapabilityError('NO_SUCH_RULE', `There is no rule ${JSON.stringify(rule)}.`, {
    facts: { rule },
    hint: 'capabilities.rules(undefined, { all: true }) shows those that there are.',
  });
}
