import { CapabilityError } from '../base/errors.js';
import type { JsonObject } from '../base/json.js';
import type { Verdict } from './decide.js';
import { allows, type Decision, type Explanation } from './decision.js';
import { mend } from './hints.js';
import type { Asking } from './host-rules.js';
import type { Question } from './question.js';
import { idsOf } from './rule.js';

/** An explanation without what only the store can add. */
export type Told = Omit<Explanation, 'chain' | 'generation'>;

/** What a verdict amounts to, as far as who asks may know. */
export function explained({ via }: Pick<Asking, 'via'>, question: Question, verdict: Verdict): Told {
  const { pid, right, request } = question;
  const { code, slot, nearest } = verdict;
  const asked = { pid, right, resource: request.text, code, nearest };
  const capability = slot?.record.id ?? 'kin';
  const isHost = via !== 'process';
  if (allows(code)) {
    return { ...asked, effect: 'allow', capability, denies: [], asks: [], hint: `Allowed by ${capability}.` };
  }
  const told = { ...asked, denies: isHost ? idsOf(verdict.denies) : [], asks: isHost ? idsOf(verdict.asks) : [] };
  const hint = mend(question, code, nearest, told.denies);
  return code === 'ASK' ? { ...told, effect: 'ask', capability, hint } : { ...told, effect: 'deny', hint };
}

export function toDecision({ effect, code, capability, hint }: Told): Decision {
  return { effect, code, ...(capability === undefined ? {} : { capability }), reason: hint };
}

/** The refusal that a decision amounts to. */
export function denial({ via }: Pick<Asking, 'via'>, told: Told): CapabilityError {
  const { pid, right, resource, code, nearest, denies, hint } = told;
  const facts: JsonObject = {
    pid,
    right,
    resource,
    code,
    nearest: nearest.map((miss) => ({ ...miss })),
    ...(via === 'process' ? {} : { denies: [...denies] }),
  };
  const message = `Process ${pid} may not ${right} ${resource}.`;
  if (code === 'REVOKED') return new CapabilityError('CAPABILITY_REVOKED', message, { facts, hint });
  if (code === 'EXPIRED') return new CapabilityError('CAPABILITY_EXPIRED', message, { facts, hint });
  return new CapabilityError('CAPABILITY_DENIED', message, { facts, hint });
}
