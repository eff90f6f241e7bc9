import type { Decision, Explanation, JsonValue, Kernel, Pid, Right } from '../index.js';

/** The part of a kernel that decides. */
type Deciding = Pick<Kernel, 'capabilities'>;

/**
 * An assertion about authority that does not hold. It has the name, the code and the members of the AssertionError of Node, by
 * which test runners know the failure of a test.
 */
export class AuthorityAssertionError extends Error {
  override readonly name = 'AssertionError';
  /** The code of failed assertions in Node. */
  readonly code = 'ERR_ASSERTION';
  /** The effect of the decision. */
  readonly actual: string;
  /** The function that made the assertion. */
  readonly operator: string;

  constructor(
    message: string,
    /** The effect that was asserted. */
    readonly expected: string,
    /** The decision of the kernel, with everything that led to it. */
    readonly explanation: Explanation,
    caller: (...args: never[]) => unknown,
  ) {
    super(message);
    this.actual = explanation.effect;
    this.operator = caller.name;
    Error.captureStackTrace(this, caller as (...args: unknown[]) => unknown);
  }
}

/**
 * Asserts that the process may do it, with these arguments. Otherwise it throws an error that tells the decision, its reason,
 * what is missing, and what would mend it. Nothing is used up, and nothing is recorded.
 *
 * @example await expectAllowed(kernel, pid, 'call', 'tool:search');
 */
export function expectAllowed(
  kernel: Deciding,
  pid: Pid,
  right: Right,
  resource: string,
  args?: JsonValue,
): Promise<Explanation> {
  return expectEffect(kernel, { pid, right, resource, args }, 'allow', expectAllowed);
}

/**
 * Asserts that the process may not do it, with these arguments: neither by itself nor after asking a person. Otherwise it throws
 * an error that tells which capability allows it. A question that has no form is an error too, and not a refusal. Answers with
 * the explanation, whose `code` says why it is refused.
 *
 * @example
 * const { code } = await expectDenied(kernel, pid, 'call', 'tool:mail', { to: 'eve@example.org' });
 * assert.equal(code, 'CONSTRAINT');
 */
export function expectDenied(
  kernel: Deciding,
  pid: Pid,
  right: Right,
  resource: string,
  args?: JsonValue,
): Promise<Explanation> {
  return expectEffect(kernel, { pid, right, resource, args }, 'deny', expectDenied);
}

/**
 * Asserts that a person is asked before the process may do it, with these arguments. Otherwise as `expectAllowed`.
 *
 * @example await expectAsked(kernel, pid, 'call', 'tool:pay', { amount: 500 });
 */
export function expectAsked(
  kernel: Deciding,
  pid: Pid,
  right: Right,
  resource: string,
  args?: JsonValue,
): Promise<Explanation> {
  return expectEffect(kernel, { pid, right, resource, args }, 'ask', expectAsked);
}

interface AskedQuestion {
  readonly pid: Pid;
  readonly right: Right;
  readonly resource: string;
  readonly args: JsonValue | undefined;
}

async function expectEffect(
  { capabilities }: Deciding,
  { pid, right, resource, args = {} }: AskedQuestion,
  expected: Decision['effect'],
  caller: (...args: never[]) => unknown,
): Promise<Explanation> {
  const explanation = await capabilities.explain(pid, right, resource, args);
  const { effect, code } = explanation;
  if (effect === expected && code !== 'BAD_REQUEST') return explanation;
  const { reason } = await capabilities.check(pid, right, resource, args);
  const message = [
    `${outcomes[effect](explanation)}, but the test expects it to be ${expectations[expected]}.`,
    `  decision: ${effect} (${code})`,
    `  reason:   ${reason}`,
    ...(effect === 'allow' ? grantedBy(explanation) : missingFrom(explanation)),
  ].join('\n');
  throw new AuthorityAssertionError(message, expected, explanation, caller);
}

const outcomes: Record<Decision['effect'], (explanation: Explanation) => string> = {
  allow: ({ pid, right, resource }) => `Process ${pid} may ${right} ${resource}`,
  ask: ({ pid, right, resource }) => `Process ${pid} has to ask a person before it may ${right} ${resource}`,
  deny: ({ pid, right, resource }) => `Process ${pid} may not ${right} ${resource}`,
};
const expectations: Record<Decision['effect'], string> = { allow: 'allowed', ask: 'asked about', deny: 'denied' };

function grantedBy({ pid, right, resource, capability, chain = [] }: Explanation): string[] {
  const granted = chain.map(({ id, resource: pattern, holder }) => `${id} on ${pattern}, held by ${holder}`);
  const revoke = typeof capability === 'string' && capability !== 'kin' ? `revoke ${capability}, or ` : '';
  return [
    ...(granted.length === 0 ? [] : [`  by:       ${granted.join(' ← ')}`]),
    `  to mend:  ${revoke}capabilities.deny('${pid}', { resource: '${resource}', rights: ['${right}'] })`,
  ];
}

function missingFrom({ code, right, resource, nearest, denies, asks, hint }: Explanation): string[] {
  const rules = [...denies, ...asks];
  return [
    ...(code === 'BAD_REQUEST' || rules.length > 0 ? [] : [`  missing:  ${right} on ${resource}`]),
    ...nearest.map(({ capability, pattern, failed }) => `  nearest:  ${capability} on ${pattern}: ${failed}`),
    ...(rules.length === 0 ? [] : [`  rules:    ${rules.join(', ')}`]),
    ...(hint === '' ? [] : [`  to mend:  ${hint}`]),
  ];
}
