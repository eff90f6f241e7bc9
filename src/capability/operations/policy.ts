import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { Ledger } from '../../audit/ledger.js';
import { CapabilityError } from '../../base/errors.js';
import { IdSource, type Pid, type RuleId } from '../../base/ids.js';
import { parseSpec, reasonText } from '../../base/spec.js';
import { Store } from '../../base/store.js';
import { EventLog } from '../../events/event-log.js';
import { hostFace } from '../act.js';
import { Holders } from '../holders.js';
import { named } from '../named.js';
import { RecordedUnits } from '../recorded-units.js';
import { rightsOfMask } from '../rights.js';
import { parseRule, type Rule, type RuleRecord, ruleSpec, toRule } from '../rule.js';
import { RuleRepository } from '../rule-repository.js';

const liftOptions = z.strictObject({ reason: reasonText.optional() });

/** What the host forbids, and allows again. */
@injectable()
export class Policy {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(RecordedUnits) private readonly units: RecordedUnits,
    @inject(RuleRepository) private readonly repository: RuleRepository,
    @inject(Holders) private readonly holders: Holders,
    @inject(IdSource) private readonly ids: IdSource,
    @inject(EventLog) private readonly events: EventLog,
    @inject(Ledger) private readonly ledger: Ledger,
  ) {}

  /** Binds `pid` and everything born under it, or with `*` every process. Throws NO_SUCH_PROCESS, INVALID_INPUT. */
  async deny(input: unknown, given: unknown): Promise<Rule> {
    const pid = named(input, 'pid');
    const stated = parseRule(parseSpec(ruleSpec, given, 'spec'));
    const call = { caller: hostFace, actor: 'host', action: 'capability.deny', target: pid } as const;
    return this.units.commit(call, async (tx, act) => {
      const n = pid === '*' ? 0 : (await this.holders.any(tx, pid)).n;
      const id: RuleId = this.ids.next('rule');
      const rule: RuleRecord = { id, effect: 'deny', pid, n, ...stated, createdAt: act.at };
      await this.repository.insert(tx, rule);
      const data = { rule: id, effect: rule.effect };
      this.events.append(tx, { type: 'rule.set', at: act.at, ...about(pid), data });
      const { resource, reason, expiresAt } = rule;
      this.ledger.append(tx, {
        ...act,
        action: call.action,
        outcome: 'ok',
        target: pid,
        resource,
        facts: { rule: id, rights: [...rightsOfMask(rule.rights)], expiresAt },
        ...(reason === null ? {} : { payload: { reason } }),
        ...(pid === '*' ? {} : { subject: pid }),
      });
      return toRule(rule);
    });
  }

  /** Those set on `pid` itself, or all of them, oldest first. */
  async rules(input?: unknown): Promise<Rule[]> {
    const pid = input === undefined ? undefined : named(input, 'pid');
    return (await this.store.read((tx) => this.repository.list(tx, pid))).map(toRule);
  }

  /** Throws NO_SUCH_RULE. */
  async lift(input: unknown, given: unknown = {}): Promise<void> {
    const id = named(input, 'rule');
    const { reason } = parseSpec(liftOptions, given, 'options');
    const call = { caller: hostFace, actor: 'host', action: 'capability.lift' } as const;
    await this.units.commit(call, async (tx, act) => {
      const rule = await this.repository.find(tx, id);
      if (rule === undefined) throw noSuchRule(id);
      await this.repository.delete(tx, id);
      const { pid, resource } = rule;
      this.events.append(tx, { type: 'rule.lifted', at: act.at, ...about(pid), data: { rule: id } });
      this.ledger.append(tx, {
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

function about(pid: Pid | '*'): { pid?: Pid } {
  return pid === '*' ? {} : { pid };
}

function noSuchRule(rule: RuleId): CapabilityError {
  return new CapabilityError('NO_SUCH_RULE', `There is no rule ${JSON.stringify(rule)}.`, {
    facts: { rule },
    hint: 'capabilities.rules() shows those that there are.',
  });
}
