import { expect } from 'vitest';
import type { Kernel, KernelError } from '../../../src/index.js';
import type { WorldQuestion } from './random-worlds.js';

/** The code of a decision on which check, explain, both as seen by the process, and require agree. */
export async function codeOfEveryCall(
  kernel: Kernel,
  { pid, right, resource, args = {} }: WorldQuestion,
): Promise<string> {
  const { effect, code, capability, reason } = await kernel.capabilities.check(pid, right, resource, args);
  const decision = { effect, code, ...(capability === undefined ? {} : { capability }) };
  const explanation = await kernel.capabilities.explain(pid, right, resource, args);
  expect(explanation).toMatchObject({ ...decision, pid, right, resource });
  expect([reason, explanation.hint]).not.toContain('');
  expect(explanation.denies.length > 0).toBe(code === 'DENY_RULE');
  expect(explanation.chain?.map(({ id }) => id)[0]).toBe(capability === 'kin' ? undefined : capability);
  expect(explanation.chain?.at(-1)?.parent ?? null).toBeNull();
  const face = kernel.as(pid).capabilities;
  expect(await face.check(right, resource, args)).toMatchObject(decision);
  expect(await face.explain(right, resource, args)).toMatchObject({ ...decision, denies: [], asks: [] });
  const done = await kernel.capabilities.require(pid, right, resource, args).catch((error: unknown) => error);
  if (effect === 'allow') expect(done).toMatchObject(decision);
  else if (effect === 'ask')
    expect(['APPROVAL_PENDING', 'APPROVAL_DENIED', 'TOO_MANY_APPROVALS']).toContain((done as KernelError).code);
  else expect(done).toMatchObject({ code: refusals[code] ?? 'CAPABILITY_DENIED', facts: { code } });
  return code;
}

const refusals: Readonly<Record<string, string>> = { REVOKED: 'CAPABILITY_REVOKED', EXPIRED: 'CAPABILITY_EXPIRED' };

/** The first refusal that a grant would mend is mended by the very call that its hint names. */
export async function assertHintAllows({ capabilities }: Kernel, all: readonly WorldQuestion[]): Promise<void> {
  for (const { pid, right, resource, args = {}, names, isOutside } of all) {
    const { code, hint } = await capabilities.explain(pid, right, resource, args);
    const isMissing = ['NO_CAPABILITY', 'CONSTRAINT', 'EXPIRED', 'SPENT', 'REVOKED'].includes(code);
    // A file with two places needs a pattern that only a person can choose.
    if (!isMissing || isOutside || new Set(names).size > 1) continue;
    const [, who = '', spec = ''] = /capabilities\.grant\('(.*?)', (\{.*?\})\)/.exec(hint) ?? [];
    expect(who).toBe(pid);
    await capabilities.grant(who, JSON.parse(toJson(spec)));
    expect(['allow', 'ask']).toContain((await capabilities.check(pid, right, resource, args)).effect);
    return;
  }
}

/** An object literal of a hint as JSON. */
function toJson(literal: string): string {
  return literal.replaceAll("'", '"').replaceAll(/([{,] )(\w+): /g, '$1"$2": ');
}
