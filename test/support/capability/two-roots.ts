import type { CapabilitySpec, Pid } from '../../../src/index.js';
import { type Stage, stage } from '../kernel-fixture.js';

/** A tool that may be called and handed on. */
export const search: CapabilitySpec = { resource: 'tool:search', rights: ['call'], delegable: true };
export const call = { resource: 'tool:search', rights: ['call'] } as const;

/** Two roots that do not know each other; the giver holds what it is given here. */
export interface Cast extends Stage {
  readonly giver: Pid;
  readonly taker: Pid;
}

export async function cast(...capabilities: CapabilitySpec[]): Promise<Cast> {
  const set = await stage();
  const giver = await set.kernel.processes.spawn({ image: 'worker', capabilities });
  const taker = await set.kernel.processes.spawn({ image: 'worker' });
  return { ...set, giver, taker };
}

/** The code of the decision on calling `resource`. */
export async function codeFor({ kernel }: Stage, pid: Pid, resource = 'tool:search'): Promise<string> {
  return (await kernel.capabilities.check(pid, 'call', resource)).code;
}
