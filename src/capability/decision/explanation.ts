import { CapabilityError } from '../../base/errors.js';
import type { JsonObject } from '../../base/json.js';
import { idsOf } from '../rule/rule.js';
import type { Asking } from '../rule/rule-gate.js';
import type { RawDecision } from './decide.js';
import { allows, type Decision, type Explanation } from './decision.js';
import { remedy } from './hints.js';
import type { Question } from './question.js';

/** An explanation without what only the store can add. */
export type Told = Omit<Explanation, 'chain' | 'generation'>;

/** What a verdict amounts to, as far as who asks may know. */
export function decided({ via }: Pick<Asking, 'via'>, question: Question, verdict: RawDecision): Decision {
  const { code, slot } = verdict;
  const capability = slot === undefined ? 'kin' : slot.record.id;
  if (allows(code)) return { effect: 'allow', code, capability, reason: `Allowed by ${capability}.` };
  const isHost = via !== 'process';
  const reason = remedy(
    isHost ? question : hidden(question),
    code,
    verdict.nearest,
    isHost ? idsOf(verdict.denies) : [],
  );
  return code === 'ASK' ? { effect: 'ask', code, capability, reason } : { effect: 'deny', code, reason };
}

/** A process is not told where links lead. */
function hidden({ pid, right, request }: Question): Question {
  return { pid, right, request, names: [request] };
}

/** The same, with all that it was found by. */
export function explained(asking: Pick<Asking, 'via'>, question: Question, verdict: RawDecision): Told {
  const { pid, right, request } = question;
  const { reason: hint, ...decision } = decided(asking, question, verdict);
  const isHost = asking.via !== 'process';
  const rules = { denies: isHost ? idsOf(verdict.denies) : [], asks: isHost ? idsOf(verdict.asks) : [] };
  return { ...decision, pid, right, resource: request.text, nearest: verdict.nearest, ...rules, hint };
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
