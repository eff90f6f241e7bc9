import type { CapabilitySpec, Pid } from '../../../src/index.js';
import { type KernelFixture, kernelFixture } from '../kernel-fixture.js';

/** A tool that may be called and handed on. */
export const search: CapabilitySpec = { resource: 'tool:search', rights: ['call'], delegable: true };
export const callSearch = { resource: 'tool:search', rights: ['call'] } as const;

/** Two roots that do not know each other; the giver holds the given capabilities. */
export interface TwoRoots extends KernelFixture {
  readonly giver: Pid;
  readonly taker: Pid;
}

export async function twoRoots(...capabilities: CapabilitySpec[]): Promise<TwoRoots> {
  const fixture = await kernelFixture();
  const giver = await fixture.kernel.processes.spawn({ image: 'worker', capabilities });
  const taker = await fixture.kernel.processes.spawn({ image: 'worker' });
  return { ...fixture, giver, taker };
}

/** The code of the decision on calling `resource`. */
export async function codeFor({ kernel }: KernelFixture, pid: Pid, resource = 'tool:search'): Promise<string> {
  return (await kernel.capabilities.check(pid, 'call', resource)).code;
}
