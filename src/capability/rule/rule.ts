import { z } from 'zod';
import type { Pid, RuleId } from '../../base/ids.js';
import { amount, reasonText, timeLimitMs } from '../../base/spec.js';
import type { Resources } from '../holding/capability.js';
import { listOfResources, resourcesSchema } from '../holding/capability-spec.js';
import { parsePattern } from '../resource/resource.js';
import { maskOfRights, parseRights, type Right, rights, rightsOfMask } from '../resource/rights.js';

export type RuleEffect = 'deny' | 'ask';

/** The resources and rights that a rule forbids or asks about. */
export interface RuleSpec<Resource extends Resources = string> {
  /** The same rule under the same id again is that rule. With a list of resources, the rules are `ID#1`, `ID#2` and so on. */
  readonly id?: RuleId;
  /** A pattern of resources, or a list of patterns. */
  readonly resource: Resource;
  /** The rights that it is about. */
  readonly rights: readonly Right[];
  /** Kept with the rule, for people. */
  readonly reason?: string;
  /** When it stops to bind, in milliseconds since 1970; absent: never. */
  readonly expiresAt?: number;
  /** Of a rule that asks: how long a question waits for its answer; the call is denied then. Absent: without limit. */
  readonly expiresInMs?: number;
}

/** A rule of the host. It binds one process and everything spawned under it, or every process. */
export interface Rule extends RuleSpec {
  readonly id: RuleId;
  /** Whether it forbids, or wants a person to be asked. */
  readonly effect: RuleEffect;
  /** The process that it binds with everything spawned under it, or `*` for all. */
  readonly pid: Pid | '*';
  /** The SHA-256 of the only arguments that it is about; absent: whatever the arguments. */
  readonly argsHash?: string;
}

/** One row of the table of rules. */
export interface RuleRecord {
  readonly id: RuleId;
  readonly effect: RuleEffect;
  readonly pid: Pid | '*';
  /** The row number of the process that it was set on; 0 for all. */
  readonly n: number;
  readonly resource: string;
  readonly rights: number;
  /** The SHA-256 of the only arguments that it is about; null: whatever the arguments. */
  readonly argsHash: string | null;
  readonly reason: string | null;
  readonly expiresAt: number | null;
  /** How long a question that it raises waits for its answer; null: without limit. */
  readonly expiresInMs: number | null;
  readonly createdAt: number;
}

/** An id that a caller chooses: `#` is kept for the rules of a list. */
const ruleId = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/,
    'is not an id: up to 128 letters, digits, dots, colons, dashes, underscores',
  );

export const ruleSpec = z.strictObject({
  id: ruleId.optional(),
  resource: resourcesSchema,
  rights: z.array(z.enum(rights)).max(64),
  reason: reasonText.optional(),
  expiresAt: amount.optional(),
  expiresInMs: timeLimitMs.optional(),
});

/** A rule to be set: the fields of its row that a spec states, in canonical form, and the id that the caller chose. */
export type StatedRule = Pick<
  RuleRecord,
  'resource' | 'rights' | 'argsHash' | 'reason' | 'expiresAt' | 'expiresInMs'
> & {
  readonly id?: RuleId;
};

/** The rule for each resource of the spec. Throws INVALID_INPUT. */
export function parseRules(spec: z.output<typeof ruleSpec>): StatedRule[] {
  const { id, resource: resources, reason = null, expiresAt = null, expiresInMs = null } = spec;
  return listOfResources(resources).map((resource, index) => {
    const { kind, text } = parsePattern(resource);
    return {
      ...(id === undefined ? {} : { id: typeof resources === 'string' ? id : listedRuleId(id, index) }),
      resource: text,
      rights: maskOfRights(parseRights(kind, spec.rights, 'spec.rights')),
      argsHash: null,
      reason,
      expiresAt,
      expiresInMs,
    };
  });
}

/** The id of a rule of a list, by its position from 0. */
export function listedRuleId(id: RuleId, index: number): RuleId {
  return `${id}#${index + 1}`;
}

/** As users see it. */
export function toRule(record: RuleRecord): Rule {
  const { id, effect, pid, resource, rights: mask, argsHash, reason, expiresAt, expiresInMs } = record;
  return {
    id,
    effect,
    pid,
    resource,
    rights: rightsOfMask(mask),
    ...(argsHash === null ? {} : { argsHash }),
    ...(reason === null ? {} : { reason }),
    ...(expiresAt === null ? {} : { expiresAt }),
    ...(expiresInMs === null ? {} : { expiresInMs }),
  };
}

export function ruleIdsOf(rules: readonly RuleRecord[]): RuleId[] {
  return rules.map(({ id }) => id);
}

/** When the first of them expires; null when none does. */
export function earliestExpiry(all: readonly { readonly expiresAt: number | null }[]): number | null {
  const times = all.flatMap(({ expiresAt }) => expiresAt ?? []);
  return times.length === 0 ? null : Math.min(...times);
}

/** How long a question of these rules waits for its answer: the shortest time of any; null: without limit. */
export function questionTimeOf(asks: readonly RuleRecord[]): number | null {
  const times = asks.flatMap(({ expiresInMs }) => expiresInMs ?? []);
  return times.length === 0 ? null : Math.min(...times);
}

/** Whether it has not expired. */
export function isInForce({ expiresAt }: RuleRecord, now: number): boolean {
  return expiresAt === null || expiresAt > now;
}
