import { inject, injectable } from 'inversify';
import type { Pid, RuleId } from '../base/ids.js';
import type { JsonValue } from '../base/json.js';
import type { ReadTx } from '../base/store.js';
import type { CapabilityStatus } from './capability.js';
import { byPreference, type CapabilityRecord, toAuthority } from './capability-record.js';
import { CapabilityRepository } from './capability-repository.js';
import { accepts } from './constraints.js';
import type { DecisionCode, NearMiss } from './decision.js';
import { HostRules } from './host-rules.js';
import { Kin } from './kin.js';
import type { Request } from './resource.js';
import { matches } from './resource-coverage.js';
import type { Right } from './rights.js';

/** May `pid` do this? */
export interface Question {
  readonly pid: Pid;
  readonly right: Right;
  readonly request: Request;
  /** Absent: whether there are arguments with which it may. */
  readonly args?: JsonValue;
}

export interface Verdict {
  readonly code: DecisionCode;
  /** By which it is allowed. */
  readonly record?: CapabilityRecord;
  readonly nearest: readonly NearMiss[];
  readonly denies: readonly RuleId[];
}

const nearestMax = 5;
const deadCodes: Record<Exclude<CapabilityStatus, 'live'>, DecisionCode> = {
  expired: 'EXPIRED',
  spent: 'SPENT',
  revoked: 'REVOKED',
  ended: 'REVOKED',
};

/** Decides by looking at every rule and capability of the process and walking up the chains. The order of rows is nothing to it. */
@injectable()
export class Evaluator {
  constructor(
    @inject(CapabilityRepository) private readonly repository: CapabilityRepository,
    @inject(HostRules) private readonly rules: HostRules,
    @inject(Kin) private readonly kin: Kin,
  ) {}

  async decide(tx: ReadTx, question: Question, now: number): Promise<Verdict> {
    const { pid, right, request } = question;
    const holder = await this.repository.holder(tx, pid);
    if (holder === undefined || !holder.live) return { ...nothing, code: 'PROCESS_ENDED' };
    const denies = await this.rules.denying(tx, holder, right, [request], now);
    if (denies.length > 0) return { ...nothing, code: 'DENY_RULE', denies };
    if (await this.kin.may(tx, pid, holder.parent, right, request)) return { ...nothing, code: 'KIN' };
    const held = [...(await this.repository.heldBy(tx, pid, request.kind))].sort(byPreference);
    const misses: { code: DecisionCode; miss: NearMiss }[] = [];
    for (const record of held) {
      const failure = await this.failure(tx, record, question, now);
      if (failure === undefined) return { ...nothing, code: 'ALLOWED', record };
      const { code, failed } = failure;
      misses.push({ code, miss: { capability: record.id, pattern: record.resource, failed } });
    }
    misses.sort((a, b) => nearness(b.code) - nearness(a.code));
    const nearest = misses.slice(0, nearestMax).map(({ miss }) => miss);
    return { code: misses[0]?.code ?? 'NO_CAPABILITY', nearest, denies };
  }

  /** live(c): its own status, its holder's state and generation, and the same of every one above it. */
  async status(tx: ReadTx, record: CapabilityRecord, now: number): Promise<CapabilityStatus> {
    for (let at: CapabilityRecord | undefined = record; at !== undefined; ) {
      if (at.status !== 'live') return at.status;
      if (at.expiresAt !== null && at.expiresAt <= now) return 'expired';
      if (at.uses === 0) return 'spent';
      const holder = await this.repository.holder(tx, at.holder);
      if (holder === undefined || !holder.live) return 'ended';
      if (!at.own && at.generation < holder.authoritySince) return 'ended';
      at = at.parent === null ? undefined : await this.repository.find(tx, at.parent);
    }
    return 'live';
  }

  private async failure(
    tx: ReadTx,
    record: CapabilityRecord,
    { right, request, args }: Question,
    now: number,
  ): Promise<{ code: DecisionCode; failed: string } | undefined> {
    const authority = toAuthority(record);
    if (!matches(authority.pattern, request)) return { code: 'NO_CAPABILITY', failed: 'resource' };
    if (!authority.rights.includes(right)) return { code: 'NO_CAPABILITY', failed: `right ${right}` };
    const status = await this.status(tx, record, now);
    const acceptance = args === undefined ? ({ ok: true } as const) : accepts(authority.constraints, args);
    if (acceptance.ok) return status === 'live' ? undefined : { code: deadCodes[status], failed: status };
    const failed = `${acceptance.path}: ${acceptance.reason}`;
    // What is dead and would not do if it lived is not what is missing.
    return status === 'live'
      ? { code: 'CONSTRAINT', failed }
      : { code: 'NO_CAPABILITY', failed: `${status}, ${failed}` };
  }
}

const nothing = { nearest: [], denies: [] } as const;

const byNearness: readonly DecisionCode[] = ['NO_CAPABILITY', 'REVOKED', 'SPENT', 'EXPIRED', 'CONSTRAINT'];

/** How near a miss is, which is also how the codes go before each other. */
function nearness(code: DecisionCode): number {
  return byNearness.indexOf(code);
}
