import { canonicalJson, type JsonValue, sha256Hex } from '../../../src/base/json.js';
import type { ApprovalDecision, ApprovalRecord, ApprovalScope } from '../../../src/capability/approval/approval.js';
import type { Constraints } from '../../../src/capability/constraint/atoms.js';
import type { CapabilityRecord } from '../../../src/capability/holding/capability-record.js';
import { matches, parsePattern, parseRequest, type ResourceKind } from '../../../src/capability/resource/resource.js';
import { maskOfRights, rightsOfKind, rightsOfMask } from '../../../src/capability/resource/rights.js';
import type { RuleRecord } from '../../../src/capability/rule/rule.js';
import type { Pid } from '../../../src/index.js';
import {
  type ReferenceProcess,
  type ReferenceQuestion,
  type ReferenceWorld,
  referenceDecision,
} from '../../capability/reference-evaluator.js';
import { pick } from '../pick.js';
import type { ApprovalPlan, CapabilityPlan, ProcessPlan, RulePlan, WorldPlan } from './arbitrary-worlds.js';
import { poolOf, realPlace } from './resource-pools.js';

/** A question as users put it, with the names that it is compared by. */
export interface WorldQuestion extends ReferenceQuestion {
  readonly resource: string;
  readonly now: number;
}

export interface World extends Omit<ReferenceWorld, 'now'> {
  readonly questions: readonly WorldQuestion[];
}

export interface WorldSetting {
  /** Makes the ids of this world differ from those of others in the same store. */
  readonly number: number;
  readonly now: number;
  readonly workspace: string;
  readonly foldsCase: boolean;
}

/** Builds the world of a plan. */
export function buildWorld(plan: WorldPlan, setting: WorldSetting): World {
  return new Builder(plan, setting).world();
}

/** Some kinds stand for a family of them, and some have more to get wrong. */
const kinds: readonly ResourceKind[] = [
  ...(['tool', 'fs', 'ns', 'net', 'process', 'tool', 'process', 'net', 'command', 'model'] as const),
  ...(['object', 'secret', 'image', 'event', 'fs', 'process', 'process', 'ns'] as const),
];

const constraintLists: readonly Constraints[] = [
  { q: { eq: 1 } },
  { q: { in: [1, 2] } },
  { q: { any: true, optional: true } },
  { q: { eq: 1 }, '*': { any: true } },
  { q: { range: [1, 1] }, r: { any: true, optional: true } },
  { 'q.a': { eq: 1 } },
];

const argLists: readonly (JsonValue | undefined)[] = [
  ...[{}, { q: 1 }, { q: 2 }, { q: 1, r: 1 }, { r: 'x' }, { q: { a: 1 } }, { q: [1] }, undefined],
];

type Ask = { readonly asked: WorldQuestion; readonly capability: string };

class Builder {
  private readonly processes: ReferenceProcess[] = [];
  private readonly capabilities: CapabilityRecord[] = [];
  private readonly kinds: readonly ResourceKind[];

  constructor(
    private readonly plan: WorldPlan,
    private readonly setting: WorldSetting,
  ) {
    const [first = 0, second = 0] = plan.kinds;
    this.kinds = [pick(kinds, first), pick(kinds, second < 20 ? first : second)];
  }

  world(): World {
    const { plan, setting } = this;
    for (const one of plan.processes) this.processes.push(this.process(one));
    for (const one of plan.capabilities) this.capabilities.push(this.capability(one));
    const { workspace, foldsCase } = setting;
    const questions = plan.questions.map((drawn) => this.question(drawn));
    const rules = plan.rules.map((one, index) => this.rule(one, index));
    const known = { processes: this.processes, capabilities: this.capabilities, rules, workspace, foldsCase };
    const asks = questions.flatMap((asked) => {
      const { code, capability } = referenceDecision({ ...known, approvals: [], now: asked.now }, asked);
      return code === 'ASK' && capability !== undefined ? [{ asked, capability }] : [];
    });
    const approvals = asks.length === 0 ? [] : plan.approvals.map((one, index) => this.approval(one, index, asks));
    return {
      ...known,
      capabilities: placed(plan.capabilities, this.capabilities),
      rules: placed(plan.rules, rules),
      approvals,
      questions,
    };
  }

  private process({ bornUnder, moved, ended, generation, since }: ProcessPlan): ReferenceProcess {
    const before = [null, ...this.processes.map(({ pid }) => pid)];
    const under = bornUnder < 2 ? null : pick(before, bornUnder);
    return {
      pid: this.pid(this.processes.length),
      bornUnder: under,
      parent: moved < 6 ? under : pick(before, moved - 6),
      ended: ended === 11,
      generation: 1 + generation,
      authoritySince: 1 + (since % (generation + 1)),
    };
  }

  private capability(one: CapabilityPlan): CapabilityRecord {
    const { setting, capabilities } = this;
    const holder = pick(this.processes, one.holder);
    const above = one.above < 14 || capabilities.length === 0 ? null : pick(capabilities, one.above - 14);
    const { resource, kind, rights } = this.about(one);
    const takesArgs = ['tool', 'command', 'net', 'model'].includes(kind);
    return {
      id: `c_${setting.number}_${one.name}_${capabilities.length}`,
      holder: holder.pid,
      generation: 1 + (one.generation % holder.generation),
      own: one.own === 15,
      resource,
      rights,
      grantable: 0,
      constraints: takesArgs && one.constraints > 5 ? pick(constraintLists, one.constraints) : null,
      uses: pick([null, null, null, null, null, null, 0, 1, 1, 3], one.uses),
      expiresAt: this.until(one.until),
      maxDepth: 64,
      parent: above?.id ?? null,
      depth: above === null ? 0 : above.depth + 1,
      status: one.revoked === 9 ? 'revoked' : 'live',
      sweeping: null,
      grantedBy: 'host',
      createdAt: setting.now,
    };
  }

  private rule(one: RulePlan, index: number): RuleRecord {
    const { resource, rights } = this.about(one);
    const args = one.args < 10 ? undefined : pick(argLists, one.args);
    return {
      id: `u_${this.setting.number}_${one.place}_${index}`,
      effect: one.effect === 3 ? 'deny' : 'ask',
      pid: one.on > 12 ? '*' : pick(this.processes, one.on).pid,
      n: 0,
      resource,
      rights,
      argsHash: args === undefined ? null : hashOf(args),
      reason: null,
      expiresAt: this.until(one.until),
      expiresInMs: null,
      createdAt: this.setting.now,
    };
  }

  /** What a person has answered when something of this was asked, by the process or by the one it was born under. */
  private approval(one: ApprovalPlan, index: number, asks: readonly Ask[]): ApprovalRecord {
    const { setting } = this;
    const { asked, capability } = pick(asks, one.question);
    const used = this.capabilities.find(({ id }) => id === capability);
    const asker = this.processes.find(({ pid }) => pid === asked.pid);
    const above = this.processes.find(({ pid }) => pid === asker?.bornUnder);
    const by = (one.by === 0 ? undefined : above) ?? asker ?? pick(this.processes, 0);
    const args = asked.args ?? {};
    const decisions: readonly ApprovalDecision[] = ['once', 'always', 'always', 'always', 'deny', 'once'];
    const decision = pick(decisions, one.decision);
    const scopes: readonly ApprovalScope[] = ['args', 'resource', 'tree'];
    return {
      id: `v_${setting.number}_${one.place}_${index}`,
      pid: by.pid,
      n: 0,
      generation: one.gone === 7 ? by.generation - 1 : by.generation,
      right: asked.right,
      resource: asked.resource,
      args,
      argsHash: hashOf(args),
      capability: pick([capability, capability, capability, used?.parent ?? capability, 'c_other'], one.gone),
      chain: [],
      lineage: [],
      rules: [],
      spec: null,
      createdAt: setting.now,
      expiresAt: this.earliestExpiry(capability),
      decision,
      scope: decision === 'always' ? pick(scopes, one.scope) : null,
      answeredBy: 'somebody',
      answeredAt: setting.now,
      granted: null,
      spentAt: one.gone === 6 ? setting.now : null,
      deniedAt: null,
      isEditable: false,
      editedArgs: null,
      editedHash: null,
    };
  }

  /** Of a capability and all above it. */
  private earliestExpiry(id: string | null): number | null {
    const capability = this.capabilities.find((one) => one.id === id);
    if (capability === undefined) return null;
    const times = [capability.expiresAt, this.earliestExpiry(capability.parent)].filter((time) => time !== null);
    return times.length === 0 ? null : Math.min(...times);
  }

  /** Half of them are about something that somebody holds, or about the family. */
  private question(drawn: number): WorldQuestion {
    const digits = new Digits(drawn);
    const aimed = digits.next(2) === 0 ? this.aimed(digits) : undefined;
    const { pid, resource, right } = aimed ?? this.stray(digits);
    const args = pick(argLists, digits.next(8));
    const now = this.setting.now + pick([0, 0, 0, 0, -1, 1, 1_000], digits.next(7));
    const names = namesOf(resource, this.setting.foldsCase);
    return { pid, right, resource, now, ...names, ...(args === undefined ? {} : { args }) };
  }

  private stray(digits: Digits): Pick<WorldQuestion, 'pid' | 'resource' | 'right'> {
    const kind = pick(this.kinds, digits.next(2));
    const who = digits.next(32);
    const pid = who === 31 ? 'p_none' : pick(this.processes, who).pid;
    const resource = this.named(pick(poolOf(kind).requests, digits.next(64)));
    return { pid, resource, right: pick(rightsOfKind(kind), digits.next(9)) };
  }

  private aimed(digits: Digits): Pick<WorldQuestion, 'pid' | 'resource' | 'right'> | undefined {
    const isFamily = this.kinds.includes('process') && digits.next(3) > 0;
    const { pid, parent } = pick(this.processes, digits.next(8));
    if (isFamily && parent !== null) {
      const [asker, other] = digits.next(3) > 0 ? [parent, pid] : [pid, parent];
      return {
        pid: asker,
        resource: `process:${other}`,
        right: pick(['send', 'wait', 'signal', 'read'], digits.next(4)),
      };
    }
    if (this.capabilities.length === 0) return undefined;
    const { holder, resource: text, rights } = pick(this.capabilities, digits.next(32));
    const pattern = parsePattern(text);
    const known = poolOf(pattern.kind).requests.map((request) => this.named(request));
    const hits = known.filter((request) => matches(pattern, parseRequest(request)));
    if (hits.length === 0) return undefined;
    return { pid: holder, resource: pick(hits, digits.next(64)), right: pick(rightsOfMask(rights), digits.next(9)) };
  }

  private about(one: { kind: number; pattern: number; rights: number }) {
    const kind = pick(this.kinds, one.kind);
    const known = rightsOfKind(kind);
    const rights = known.filter(
      (_, index) => index === one.rights % known.length || (one.rights >> (index % 5)) % 4 > 0,
    );
    return { kind, resource: this.named(pick(poolOf(kind).patterns, one.pattern)), rights: maskOfRights(rights) };
  }

  private until(choice: number): number | null {
    const { now } = this.setting;
    return pick([null, null, null, null, null, now + 1_000, now + 1, now, now - 1, now + 2_000], choice);
  }

  private named(text: string): string {
    return text.replace(/@(\d)/g, (_, digit) => this.pid(Number(digit)));
  }

  private pid(index: number): Pid {
    return `p_${this.setting.number}_${index}`;
  }
}

/** The names that a resource goes by: a file by the one that was given and the one that its links lead to. */
export function namesOf(resource: string, foldsCase: boolean): Pick<ReferenceQuestion, 'names' | 'isOutside'> {
  const { kind, segments } = parseRequest(resource);
  if (kind !== 'fs') return { names: [resource], isOutside: false };
  const real = realPlace(segments, foldsCase);
  if (real === undefined) return { names: [resource], isOutside: true };
  return { names: [resource, `fs:${real.join('/') || '.'}`], isOutside: false };
}

/** The parts of a number, the small ones first. */
class Digits {
  constructor(private left: number) {}

  next(base: number): number {
    const digit = this.left % base;
    this.left = Math.floor(this.left / base);
    return digit;
  }
}

/** In the order that the plans ask for. */
function placed<T>(plans: readonly { readonly place: number }[], rows: readonly T[]): T[] {
  const order = plans.map(({ place }, index) => [place, index] as const).sort(([a], [b]) => a - b);
  return order.map(([, index]) => pick(rows, index));
}

function hashOf(args: JsonValue): string {
  return sha256Hex(canonicalJson(args));
}
