import { z } from 'zod';
import type { Pid, RuleId } from '../../base/ids.js';
import { amount, reasonText } from '../../base/spec.js';
import { parsePattern } from '../resource/resource.js';
import { maskOfRights, parseRights, type Right, rights, rightsOfMask } from '../resource/rights.js';

export type RuleEffect = 'deny' | 'ask';

/** The resources and rights that a rule forbids or asks about. */
export interface RuleSpec {
  readonly resource: string;
  readonly rights: readonly Right[];
  readonly reason?: string;
  readonly expiresAt?: number;
}

/** A rule of the host. It binds one process and everything spawned under it, or every process. */
export interface Rule extends RuleSpec {
  readonly id: RuleId;
  readonly effect: RuleEffect;
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
  readonly createdAt: number;
}

export const ruleSpec = z.strictObject({
  resource: z.string(),
  rights: z.array(z.enum(rights)).max(64),
  reason: reasonText.optional(),
  expiresAt: amount.optional(),
});

/** The fields of a row that a spec states, in canonical form. Throws INVALID_INPUT. */
export function parseRule(
  spec: z.output<typeof ruleSpec>,
): Pick<RuleRecord, 'resource' | 'rights' | 'argsHash' | 'reason' | 'expiresAt'> {
  const { kind, text } = parsePattern(spec.resource);
  return {
    resource: text,
    rights: maskOfRights(parseRights(kind, spec.rights, 'spec.rights')),
    argsHash: null,
    reason: spec.reason ?? null,
    expiresAt: spec.expiresAt ?? null,
  };
}

/** As users see it. */
export function toRule(record: RuleRecord): Rule {
  const { id, effect, pid, resource, rights: mask, argsHash, reason, expiresAt } = record;
  return {
    id,
    effect,
    pid,
    resource,
    rights: rightsOfMask(mask),
    ...(argsHash === null ? {} : { argsHash }),
    ...(reason === null ? {} : { reason }),
    ...(expiresAt === null ? {} : { expiresAt }),
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

/** Whether it has not expired. */
export function isInForce({ expiresAt }: RuleRecord, now: number): boolean {
  return expiresAt === null || expiresAt > now;
}
