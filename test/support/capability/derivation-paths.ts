import type { Capability, CapabilitySpec, DelegationSpec, Pid } from '../../../src/index.js';
import { type KernelFixture, kernelFixture, manualClock } from '../kernel-fixture.js';

/** A giver that holds the given capabilities, its child, and a root that neither of them knows. */
export interface GiverFixture extends KernelFixture {
  readonly clock: ReturnType<typeof manualClock>;
  readonly giver: Pid;
  readonly child: Pid;
  readonly stranger: Pid;
}

export async function giverFixture(...capabilities: CapabilitySpec[]): Promise<GiverFixture> {
  const clock = manualClock();
  const fixture = await kernelFixture({ clock });
  const giver = await fixture.kernel.processes.spawn({ image: 'worker', capabilities });
  const child = await fixture.kernel.processes.spawnChild(giver, { image: 'worker' });
  const stranger = await fixture.kernel.processes.spawn({ image: 'worker' });
  return { ...fixture, clock, giver, child, stranger };
}

/** Every path by which a capability is derived from one that the giver holds; each returns the new holder. */
const derivations = {
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
} satisfies Record<string, (set: GiverFixture, spec: DelegationSpec) => Promise<Pid>>;

export type DerivationPath = keyof typeof derivations;
export const derivationPaths = Object.keys(derivations) as DerivationPath[];

/** Derives by one path, and returns the capability that resulted. */
export async function deriveBy(
  fixture: GiverFixture,
  path: DerivationPath,
  spec: DelegationSpec,
): Promise<Capability | undefined> {
  const holder = await derivations[path](fixture, spec);
  const held = await fixture.kernel.capabilities.list(holder, { status: 'any' });
  return held.filter(({ resource, parent }) => resource === spec.resource && parent !== null).at(-1);
}

/** The code of the refusal by each path, with the field that it names; asserts that nothing has changed. */
export async function refusalsByPath(
  fixture: GiverFixture,
  spec: DelegationSpec,
  among: readonly DerivationPath[] = derivationPaths,
): Promise<Record<string, string>> {
  const refusals: Record<string, string> = {};
  for (const path of among) {
    const { code, facts } = await fixture.refused(() => derivations[path](fixture, spec));
    const { field } = facts as { field?: string };
    refusals[path] = field === undefined ? code : `${code} ${field}`;
  }
  return refusals;
}
