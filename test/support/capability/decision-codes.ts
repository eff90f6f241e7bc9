import { expect } from 'vitest';
import { type Decision, type JsonValue, type Kernel, KernelError, type Pid, type Right } from '../../../src/index.js';

/** What is asked, without the process. */
export type Asked = readonly [right: Right, resource: string, args?: JsonValue];

/**
 * The one code that check, explain and require give, on the host's face and on the process's own; fails the test where
 * they differ. What check calls BAD_REQUEST is INVALID_INPUT for require.
 */
export async function verdict(kernel: Kernel, pid: Pid, ...asked: Asked): Promise<string> {
  const host = kernel.capabilities;
  const own = kernel.as(pid).capabilities;
  const codes = {
    check: (await host.check(pid, ...asked)).code,
    explain: (await host.explain(pid, ...asked)).code,
    require: await required(host.require(pid, ...asked)),
    ownCheck: (await own.check(...asked)).code,
    ownExplain: (await own.explain(...asked)).code,
    ownRequire: await required(own.require(...asked)),
  };
  const same = Object.fromEntries(Object.keys(codes).map((way) => [way, codes.check]));
  expect([asked, codes]).toEqual([asked, same]);
  return codes.check;
}

/** The verdict on each of `resources`, so that a whole list is compared at once. */
export async function verdicts(
  kernel: Kernel,
  pid: Pid,
  right: Right,
  resources: readonly string[],
): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const resource of resources) found[resource] = await verdict(kernel, pid, right, resource);
  return found;
}

/** The same code for all of them, in the form that `verdicts` answers in. */
export function all(code: string, resources: readonly string[]): Record<string, string> {
  return Object.fromEntries(resources.map((resource) => [resource, code]));
}

async function required(call: Promise<Decision>): Promise<string> {
  try {
    return (await call).code;
  } catch (error) {
    if (!(error instanceof KernelError)) throw error;
    return error.code === 'INVALID_INPUT' ? 'BAD_REQUEST' : String(error.facts.code);
  }
}
