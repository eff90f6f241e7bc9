import type { RuleId } from '../../base/ids.js';
import type { ResourceKind } from '../resource/resource.js';
import { type Right, rightsOfKind } from '../resource/rights.js';
import { liftHint } from '../rule/rule-gate.js';
import type { DecisionCode, NearMiss } from './decision.js';
import type { Question } from './question.js';

/** The sentence that tells how a refusal can be remedied, with the call to make where there is one. */
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
      return `Change the arguments to what ${nearest[0]?.capability} allows (${nearest[0]?.failed}), or grant more: ${grantCalls(question)}.`;
    case 'EXPIRED':
    case 'SPENT':
    case 'REVOKED':
      return `${nearest[0]?.capability} is ${nearest[0]?.failed}; grant it anew: ${grantCalls(question)}.`;
    default:
      if (question.isOutsideWorkspace === true)
        return 'Links lead out of the workspace there, or it is a file of the kernel itself; name another file.';
      return `Delegate it from a process that holds it, or grant it: ${grantCalls(question)}.`;
  }
}

/** The calls that would allow it; for a file that a link leads elsewhere, one for each of its names. */
function grantCalls({ pid, right, names, request }: Question): string {
  const named = request.kind === 'fs' ? [request, ...names.slice(1)] : [request];
  const calls = named.map(
    ({ text }) => `capabilities.grant('${pid}', { resource: '${text}', ${rightsText(right, request.kind)} })`,
  );
  return calls.length === 1 ? (calls[0] ?? '') : `a pattern that covers both, as in ${calls.join(' and ')}`;
}

/** The right `grant` is stated together with the rights that may be handed on. */
function rightsText(right: Right, kind: ResourceKind): string {
  if (right !== 'grant') return `rights: ['${right}']`;
  const others = rightsOfKind(kind).filter((other) => other !== 'grant');
  return `rights: ['grant'], grantable: [${others.map((other) => `'${other}'`).join(', ')}]`;
}
