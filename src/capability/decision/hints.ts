import type { RuleId } from '../../base/ids.js';
import type { ResourceKind } from '../resource/resource-kind.js';
import { type Right, rightsOfKind } from '../resource/rights.js';
import { liftHint } from '../rule/rule-gate.js';
import type { DecisionCode, NearMiss } from './decision.js';
import type { Question } from './question.js';

/** The call that would mend a refusal. */
export function remedy(
  question: Question,
  code: DecisionCode,
  nearest: readonly NearMiss[],
  denies: readonly RuleId[],
): string {
  switch (code) {
    case 'PROCESS_ENDED':
      return `Process ${question.pid} has ended or never was; it holds nothing.`;
    case 'DENY_RULE':
      return liftHint(denies);
    case 'ASK':
      return 'A rule wants a person to approve it: approvals.list() shows what waits for an answer.';
    case 'CONSTRAINT':
      return `Change the arguments to what ${nearest[0]?.capability} allows (${nearest[0]?.failed}), or grant more: ${grant(question)}.`;
    case 'EXPIRED':
    case 'SPENT':
    case 'REVOKED':
      return `${nearest[0]?.capability} is ${nearest[0]?.failed}; grant it anew: ${grant(question)}.`;
    default:
      if (question.isOutside === true) return 'Links lead out of the workspace there; name a file inside it.';
      return `Delegate it from a process that holds it, or grant it: ${grant(question)}.`;
  }
}

/** What would allow it; for a file that a link leads elsewhere, that has to be both. */
function grant({ pid, right, names, request }: Question): string {
  const calls = [request, ...names.slice(1)].map(
    ({ text }) => `capabilities.grant('${pid}', { resource: '${text}', ${stated(right, request.kind)} })`,
  );
  return calls.length === 1 ? (calls[0] ?? '') : `a pattern that covers both, as in ${calls.join(' and ')}`;
}

/** The right to hand on is given together with what may be handed on. */
function stated(right: Right, kind: ResourceKind): string {
  if (right !== 'grant') return `rights: ['${right}']`;
  const others = rightsOfKind(kind).filter((one) => one !== 'grant');
  return `rights: ['grant'], grantable: [${others.map((one) => `'${one}'`).join(', ')}]`;
}
