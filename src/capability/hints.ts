import type { Pid, RuleId } from '../base/ids.js';
import type { DecisionCode, NearMiss } from './decision.js';
import { liftHint } from './host-rules.js';
import type { Right } from './rights.js';

interface Asked {
  readonly pid: Pid;
  readonly right: Right;
  readonly resource: string;
}

/** The call that would mend a refusal. */
export function mend(
  code: DecisionCode,
  asked: Asked,
  nearest: readonly NearMiss[],
  denies: readonly RuleId[],
): string {
  switch (code) {
    case 'PROCESS_ENDED':
      return `Process ${asked.pid} has ended or never was; it holds nothing.`;
    case 'DENY_RULE':
      return liftHint(denies);
    case 'CONSTRAINT':
      return `Change the arguments to what ${nearest[0]?.capability} allows (${nearest[0]?.failed}), or grant more: ${grant(asked)}.`;
    case 'EXPIRED':
    case 'SPENT':
    case 'REVOKED':
      return `${nearest[0]?.capability} is ${nearest[0]?.failed}; grant it anew: ${grant(asked)}.`;
    default:
      return `Delegate it from a process that holds it, or grant it: ${grant(asked)}.`;
  }
}

function grant({ pid, right, resource }: Asked): string {
  return `capabilities.grant('${pid}', { resource: '${resource}', rights: ['${right}'] })`;
}
