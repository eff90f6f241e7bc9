import { CapabilityError } from '../../base/errors.js';
import type { JsonObject } from '../../base/json.js';
import { ruleIdsOf } from '../rule/rule.js';
import type { CallContext } from '../rule/rule-gate.js';
import { allows, type RawDecision } from './decide.js';
import type { Decision, Explanation } from './decision.js';
import { remedy } from './hints.js';
import type { Question } from './question.js';

/** The part of an explanation that needs no further reading from the store. */
export type ExplanationBase = Omit<Explanation, 'chain' | 'generation'>;

type Face = Pick<CallContext, 'via'>;

/** The decision as users see it. A process learns neither which rules there are nor where links lead. */
export function toDecision({ via }: Face, question: Question, raw: RawDecision): Decision {
  const { code, node, nearest, denies } = raw;
  const capability = node === undefined ? 'kin' : node.record.id;
  if (allows(code)) return { effect: 'allow', code, capability, reason: `Allowed by ${capability}.` };
  const reason =
    via === 'process'
      ? remedy(withoutLinks(question), code, nearest, [])
      : remedy(question, code, nearest, ruleIdsOf(denies));
  return code === 'ASK' ? { effect: 'ask', code, capability, reason } : { effect: 'deny', code, reason };
}

/** The decision with its near misses and rules. */
export function toExplanation(face: Face, question: Question, raw: RawDecision): ExplanationBase {
  const { pid, right, request } = question;
  const { reason: hint, ...decision } = toDecision(face, question, raw);
  const isHost = face.via !== 'process';
  const rules = { denies: isHost ? ruleIdsOf(raw.denies) : [], asks: isHost ? ruleIdsOf(raw.asks) : [] };
  return { ...decision, pid, right, resource: request.text, nearest: raw.nearest, ...rules, hint };
}

function withoutLinks({ pid, right, request }: Question): Question {
  return { pid, right, request, names: [request] };
}

/** The error of an effect that is not allowed. */
export function capabilityDenied({ via }: Face, explanation: ExplanationBase): CapabilityError {
  const { pid, right, resource, code, nearest, denies, hint } = explanation;
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
