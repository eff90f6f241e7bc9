import { z } from 'zod';
import type { Pid, RuleId } from '../base/ids.js';
import { amount, reasonText } from '../base/spec.js';
import { parsePattern } from './resource.js';
import { maskOfRights, parseRights, type Right, rights, rightsOfMask } from './rights.js';

export type RuleEffect = 'deny';

/** What a rule is about. */
export interface RuleSpec {
  readonly resource: string;
  readonly rights: readonly Right[];
  readonly reason?: string;
  readonly expiresAt?: number;
}

/** A rule of the host. It binds one process and everything born under it, or every process. */
export interface Rule extends RuleSpec {
  readonly id: RuleId;
  readonly effect: RuleEffect;
  readonly pid: Pid | '*';
}

/** One row of the table of rules. */
export interface RuleRecord {
  readonly id: RuleId;
  readonly effect: RuleEffect;
  readonly pid: Pid | '*';
  /** The number of the process that it was set on; 0 for all. */
  readonly n: number;
  readonly resource: string;
  readonly rights: number;
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
): Pick<RuleRecord, 'resource' | 'rights' | 'reason' | 'expiresAt'> {
  const { kind, text } = parsePattern(spec.resource);
  return {
    resource: text,
    rights: maskOfRights(parseRights(kind, spec.rights, 'spec.rights')),
    reason: spec.reason ?? null,
    expiresAt: spec.expiresAt ?? null,
  };
}

/** As users see it. */
export function toRule({ id, effect, pid, resource, rights: mask, reason, expiresAt }: RuleRecord): Rule {
  return {
    id,
    effect,
    pid,
    resource,
    rights: rightsOfMask(mask),
    ...(reason === null ? {} : { reason }),
    ...(expiresAt === null ? {} : { expiresAt }),
  };
}
