import { z } from 'zod';
import { invalidInput } from '../../base/errors.js';
import type { CapabilityId } from '../../base/ids.js';
import { amount, storedText } from '../../base/spec.js';
import { parseConstraints } from '../constraint/constraints-spec.js';
import type { ResourceKind } from '../resource/resource.js';
import { parsePattern } from '../resource/resource.js';
import { parseRights, type Right, rights, unionRights } from '../resource/rights.js';
import { type Authority, delegationDepthDefault, depthLimit, type Resources } from './capability.js';

const rightSchema = z.enum(rights);

/** The most patterns that one spec lists. */
const resourcesMax = 1024;

/** A pattern, or a list of them. */
export const resourcesSchema = z.union(
  [z.string(), z.array(z.string()).min(1).max(resourcesMax)],
  `is neither a pattern nor a list of 1 to ${resourcesMax} patterns`,
);

const fields = {
  resource: resourcesSchema,
  rights: z.array(rightSchema).max(64),
  constraints: z.record(z.string(), z.unknown()).optional(),
  uses: amount.min(1).optional(),
  expiresAt: amount.optional(),
  delegable: z.boolean().optional(),
  grantable: z.array(rightSchema).max(64).optional(),
  maxDepth: amount.max(depthLimit).optional(),
};

/** The shape of a `CapabilitySpec`; the text inside it is read by `parseCapabilitySpecs`. */
export const capabilitySpec = z.strictObject(fields);

/** The shape of a `CapabilitySpec` with one resource. */
export const singleCapabilitySpec = z.strictObject({ ...fields, resource: z.string('is not one pattern') });

/** The shape of a `DelegationSpec`; the text inside it is read by `parseDelegationSpecs`. */
export const delegationSpec = z.strictObject({ ...fields, from: storedText.min(1).max(256).optional() });

/** The type that the schemas produce, and that the specs of the API fit. */
export interface SpecShape<Resource extends Resources = Resources> {
  readonly resource: Resource;
  readonly rights: readonly Right[];
  readonly constraints?: unknown;
  readonly uses?: number | undefined;
  readonly expiresAt?: number | undefined;
  readonly delegable?: boolean | undefined;
  readonly grantable?: readonly Right[] | undefined;
  readonly maxDepth?: number | undefined;
}

/** The authority that a delegation states, in canonical form; fields that it leaves out are inherited. */
export interface StatedAuthority extends Omit<Authority, 'maxDepth'> {
  readonly maxDepth?: number;
  readonly from?: CapabilityId;
  /** `grant` is among the rights because of `delegable`, which a refusal then names. */
  readonly grantImplied?: true;
}

/** The authority that a root grant gives. Throws INVALID_INPUT. */
export function parseCapabilitySpec(spec: SpecShape<string>, path = 'spec'): Authority {
  const stated = parseFields(spec, path);
  return { ...stated, maxDepth: stated.maxDepth ?? delegationDepthDefault };
}

/** The authority that a root grant gives, for each of its resources. Throws INVALID_INPUT. */
export function parseCapabilitySpecs(spec: SpecShape, path = 'spec'): Authority[] {
  return perResource(spec).map((single) => parseCapabilitySpec(single, path));
}

/** Throws INVALID_INPUT; whether it may be handed on is for `attenuate` to say. */
export function parseDelegationSpec(spec: DelegationShape<string>, path = 'spec'): StatedAuthority {
  return {
    ...parseFields(spec, path),
    ...(spec.from === undefined ? {} : { from: spec.from }),
    ...(spec.delegable === true && !spec.rights.includes('grant') ? { grantImplied: true } : {}),
  };
}

/** As `parseDelegationSpec`, for each resource of the spec. */
export function parseDelegationSpecs(spec: DelegationShape, path = 'spec'): StatedAuthority[] {
  return perResource(spec).map((single) => parseDelegationSpec(single, path));
}

type DelegationShape<Resource extends Resources = Resources> = SpecShape<Resource> & {
  readonly from?: CapabilityId | undefined;
};

/** A copy of the spec for each resource that it names. */
function perResource<Spec extends SpecShape>(spec: Spec): (Spec & { readonly resource: string })[] {
  return listOfResources(spec.resource).map((resource) => ({ ...spec, resource }));
}

/** The answer of a call with a spec: what was made for its one resource, or the list of what was made for its list. */
export function answerFor<T>(resource: Resources, made: T[]): T | T[] {
  const [first] = made;
  return typeof resource === 'string' && first !== undefined ? first : made;
}

/** The resources, whether one is given or a list. */
export function listOfResources(resource: Resources): readonly string[] {
  return typeof resource === 'string' ? [resource] : resource;
}

function parseFields(spec: SpecShape<string>, path: string): StatedAuthority {
  const pattern = parsePattern(spec.resource);
  const stated = parseRights(pattern.kind, spec.rights, `${path}.rights`);
  const all = spec.delegable === true ? unionRights(stated, ['grant']) : stated;
  const constraints =
    spec.constraints === undefined
      ? undefined
      : parseConstraints(spec.constraints, pattern.kind, `${path}.constraints`);
  return {
    pattern,
    rights: all,
    grantable: parseGrantable(spec, all, pattern.kind, `${path}.grantable`),
    delegable: all.includes('grant'),
    ...(constraints === undefined ? {} : { constraints }),
    ...(spec.uses === undefined ? {} : { uses: spec.uses }),
    ...(spec.expiresAt === undefined ? {} : { expiresAt: spec.expiresAt }),
    ...(spec.maxDepth === undefined ? {} : { maxDepth: spec.maxDepth }),
  };
}

/** Which rights may be handed on: those stated, all of a delegable one, or all but `grant` itself. */
function parseGrantable(spec: SpecShape, all: readonly Right[], kind: ResourceKind, path: string): readonly Right[] {
  const stated = spec.grantable ?? [];
  if (!all.includes('grant')) {
    if (stated.length === 0) return [];
    throw invalidInput(path, 'is given without the right "grant"', 'Add "grant" to the rights.');
  }
  if (spec.grantable !== undefined) return parseRights(kind, stated, path);
  const others = all.filter((right) => right !== 'grant');
  if (others.length > 0) return spec.delegable === true ? all : others;
  throw invalidInput(path, 'is missing beside the right "grant"', 'Name the rights that may be handed on.');
}
