import type { Capability, CapabilitySpec, DelegationSpec, Pid } from '../../../src/index.js';
import { handClock, type Stage, stage } from '../kernel-fixture.js';

/** A giver that holds what it is given here, its child, and a root that neither of them knows. */
export interface Family extends Stage {
  readonly clock: ReturnType<typeof handClock>;
  readonly giver: Pid;
  readonly child: Pid;
  readonly stranger: Pid;
}

export async function family(...capabilities: CapabilitySpec[]): Promise<Family> {
  const clock = handClock();
  const set = await stage({ clock });
  const giver = await set.kernel.processes.spawn({ image: 'worker', capabilities });
  const child = await set.kernel.processes.spawnChild(giver, { image: 'worker' });
  const stranger = await set.kernel.processes.spawn({ image: 'worker' });
  return { ...set, clock, giver, child, stranger };
}

/** Every way in which a capability comes from one that the giver holds; answers with who has it then. */
const comings = {
  delegate: async ({ kernel, giver, child }, spec) => {
    return (await kernel.capabilities.delegate(giver, child, spec)).holder;
  },
  'delegate by itself': async ({ kernel, giver, child }, spec) => {
    return (await kernel.as(giver).capabilities.delegate(child, spec)).holder;
  },
  derive: async ({ kernel, giver }, spec) => (await kernel.capabilities.derive(giver, spec)).holder,
  'derive by itself': async ({ kernel, giver }, spec) => (await kernel.as(giver).capabilities.derive(spec)).holder,
  spawnChild: ({ kernel, giver }, spec) => kernel.processes.spawnChild(giver, { delegate: [spec] }),
  'spawnChild by itself': ({ kernel, giver }, spec) => kernel.as(giver).spawnChild({ delegate: [spec] }),
  fork: ({ kernel, giver }, spec) => kernel.processes.fork(giver, { delegate: [spec] }),
  'fork by itself': ({ kernel, giver }, spec) => kernel.as(giver).fork({ delegate: [spec] }),
} satisfies Record<string, (set: Family, spec: DelegationSpec) => Promise<Pid>>;

export type Way = keyof typeof comings;
export const ways = Object.keys(comings) as Way[];

/** What came by `way`. */
export async function taken(set: Family, way: Way, spec: DelegationSpec): Promise<Capability | undefined> {
  const holder = await comings[way](set, spec);
  const held = await set.kernel.capabilities.list(holder, { status: 'any' });
  return held.filter(({ resource, parent }) => resource === spec.resource && parent !== null).at(-1);
}

/** The code of the refusal in each of the ways, with the field that it names; nothing may have changed. */
export async function refusals(
  set: Family,
  spec: DelegationSpec,
  among: readonly Way[] = ways,
): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const way of among) {
    const { code, facts } = await set.refused(() => comings[way](set, spec));
    const { field } = facts as { field?: string };
    found[way] = field === undefined ? code : `${code} ${field}`;
  }
  return found;
}
