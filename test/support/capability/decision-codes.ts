import { expect } from 'vitest';
import { type Decision, type JsonValue, type Kernel, KernelError, type Pid, type Right } from '../../../src/index.js';

/** The arguments of check, without the process. */
export type CheckArgs = readonly [right: Right, resource: string, args?: JsonValue];

/**
 * The one code that check, explain and require give, on the host's face and on the process's own; fails the test where
 * they differ. What check calls BAD_REQUEST is INVALID_INPUT for require.
 */
export async function decisionCode(kernel: Kernel, pid: Pid, ...args: CheckArgs): Promise<string> {
  const host = kernel.capabilities;
  const own = kernel.as(pid).capabilities;
  const codes = {
    check: (await host.check(pid, ...args)).code,
    explain: (await host.explain(pid, ...args)).code,
    require: await codeOfRequire(host.require(pid, ...args)),
    ownCheck: (await own.check(...args)).code,
    ownExplain: (await own.explain(...args)).code,
    ownRequire: await codeOfRequire(own.require(...args)),
  };
  const same = Object.fromEntries(Object.keys(codes).map((way) => [way, codes.check]));
  expect([args, codes]).toEqual([args, same]);
  return codes.check;
}

/** The code for each of `resources`, so that a whole list is compared at once. */
export async function decisionCodes(
  kernel: Kernel,
  pid: Pid,
  right: Right,
  resources: readonly string[],
): Promise<Record<string, string>> {
  const codes: Record<string, string> = {};
  for (const resource of resources) codes[resource] = await decisionCode(kernel, pid, right, resource);
  return codes;
}

/** One code for all resources, in the form of `decisionCodes`. */
export function sameCodeFor(code: string, resources: readonly string[]): Record<string, string> {
  return Object.fromEntries(resources.map((resource) => [resource, code]));
}

async function codeOfRequire(call: Promise<Decision>): Promise<string> {
  try {
    return (await call).code;
  } catch (error) {
    if (!(error instanceof KernelError)) throw error;
    return error.code === 'INVALID_INPUT' ? 'BAD_REQUEST' : String(error.facts.code);
  }
}
