import fc from 'fast-check';
import { matches, parsePattern, parseRequest, type ResourceKind } from '../../../src/capability/resource/resource.js';
import { rightsOfKind } from '../../../src/capability/resource/rights.js';
import type { CapabilitySpec, Constraints, DelegationSpec, JsonObject, Right } from '../../../src/index.js';
import { poolOf } from './resource-pools.js';

/** Something that somebody may want to do. */
export interface Use {
  readonly right: Right;
  readonly resource: string;
  readonly args: JsonObject;
}

/** Kinds whose resources name no process and lie behind no link, so that their names are all there is to them. */
const kinds = ['tool', 'net', 'object', 'model', 'secret', 'image'] as const satisfies readonly ResourceKind[];
export const kind: fc.Arbitrary<ResourceKind> = fc.constantFrom('tool', 'tool', ...kinds);

const someArgs: readonly JsonObject[] = [{}, { q: 1 }, { q: 2 }, { q: 1, r: 1 }, { r: 'x' }];
const args: fc.Arbitrary<JsonObject> = fc.constantFrom(...someArgs);

const constraints: fc.Arbitrary<Constraints> = fc.constantFrom<Constraints[]>(
  { q: { eq: 1 } },
  { q: { in: [1, 2] } },
  { q: { eq: 1 }, r: { any: true, optional: true } },
  { q: { any: true, optional: true }, '*': { any: true } },
  { '*': { any: true } },
);

/** All uses of a kind that are told apart here. */
export function usesOf(of: ResourceKind): Use[] {
  const told = takesArgs(of) ? someArgs : someArgs.slice(0, 1);
  return rightsOfKind(of).flatMap((right) =>
    [...new Set(poolOf(of).requests)].flatMap((resource) => told.map((one) => ({ right, resource, args: one }))),
  );
}

/** A use of `of`. */
export function uses(of: ResourceKind): fc.Arbitrary<Use> {
  return fc.record({
    right: fc.constantFrom(...rightsOfKind(of)),
    resource: fc.constantFrom(...poolOf(of).requests),
    args,
  });
}

/** A grant on `of` at the time `now`, in all its fields; each limit is absent so many times as often as it is there. */
export function grants(of: ResourceKind, now: number, unlimited = 3): fc.Arbitrary<CapabilitySpec> {
  return specs(of, now, fc.constantFrom(...poolOf(of).patterns), unlimited);
}

const fields = ['resource', 'rights', 'constraints', 'uses', 'expiresAt', 'maxDepth'] as const;

/** A delegation of all of `parent` with one field as it comes, or anything near it: narrower, as wide or wider. */
export function delegations(of: ResourceKind, parent: CapabilitySpec, now: number): fc.Arbitrary<DelegationSpec> {
  const pattern = parsePattern(parent.resource);
  const below = poolOf(of).requests.filter((text) => matches(pattern, parseRequest(text)));
  const resource = fc.oneof(fc.constantFrom(parent.resource, ...below), fc.constantFrom(...poolOf(of).patterns));
  const whole = { resource: parent.resource, rights: parent.grantable ?? parent.rights };
  const varied = fc.tuple(fc.constantFrom(...fields), specs(of, now, resource, 0)).map(([field, other]) => {
    const { delegable = false, grantable, ...rest } = other;
    if (field === 'rights') return { ...whole, rights: rest.rights, delegable, ...(grantable && { grantable }) };
    return { ...whole, ...(rest[field] === undefined ? {} : { [field]: rest[field] }) };
  });
  return fc.oneof({ weight: 3, arbitrary: varied }, specs(of, now, resource, 5));
}

function specs(
  of: ResourceKind,
  now: number,
  resource: fc.Arbitrary<string>,
  unlimited: number,
): fc.Arbitrary<CapabilitySpec> {
  const usable = rightsOfKind(of).filter((right) => right !== 'grant');
  const some = fc.subarray(usable, { minLength: 1 });
  return fc
    .record({
      resource,
      rights: some,
      grantable: some,
      handing: fc.constantFrom('not', 'whole', 'whole', 'part', 'only'),
      constraints: takesArgs(of) ? seldom(constraints, 1) : fc.constant(undefined),
      uses: seldom(fc.integer({ min: 1, max: 3 }), unlimited),
      expiresAt: seldom(fc.integer({ min: now + 1, max: now + 3 }), unlimited),
      maxDepth: seldom(fc.integer({ min: 0, max: 4 }), unlimited),
    })
    .map(({ handing, rights, grantable, ...fields }) => ({
      ...present(fields),
      ...handed(handing, rights, grantable),
    }));
}

function takesArgs(of: ResourceKind): boolean {
  return of === 'tool' || of === 'net' || of === 'model';
}

/** Present once for so many times that it is absent. */
function seldom<T>(value: fc.Arbitrary<T>, absent: number): fc.Arbitrary<T | undefined> {
  return fc.oneof({ weight: absent, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });
}

/** Not at all, all of it, a part of it, or what may be handed on and not used. */
function handed(
  how: string,
  rights: Right[],
  grantable: Right[],
): Pick<CapabilitySpec, 'rights' | 'grantable' | 'delegable'> {
  if (how === 'whole') return { rights, delegable: true };
  if (how === 'part') return { rights: [...rights, 'grant'], grantable };
  return how === 'only' ? { rights: ['grant'], grantable } : { rights };
}

function present<T extends { readonly resource: string }>(fields: T): { readonly resource: string } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as { resource: string };
}
