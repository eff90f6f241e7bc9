import { z } from 'zod';
import { invalidInput } from '../../base/errors.js';
import type { CapabilityId } from '../../base/ids.js';
import { amount } from '../../base/spec.js';
import { parseConstraints } from '../constraint/constraints-spec.js';
import type { ResourceKind } from '../resource/resource.js';
import { parsePattern } from '../resource/resource.js';
import { parseRights, type Right, rights, unionRights } from '../resource/rights.js';
import { type Authority, delegationDepthDefault, depthLimit } from './capability.js';

const rightSchema = z.enum(rights);

const fields = {
  resource: z.string(),
  rights: z.array(rightSchema).max(64),
  constraints: z.record(z.string(), z.unknown()).optional(),
  uses: amount.min(1).optional(),
  expiresAt: amount.optional(),
  delegable: z.boolean().optional(),
  grantable: z.array(rightSchema).max(64).optional(),
  maxDepth: amount.max(depthLimit).optional(),
};

/** The shape of a `CapabilitySpec`; the text inside it is read by `parseCapabilitySpec`. */
export const capabilitySpec = z.strictObject(fields);

/** The shape of a `DelegationSpec`; the text inside it is read by `parseDelegationSpec`. */
export const delegationSpec = z.strictObject({ ...fields, from: z.string().min(1).max(256).optional() });

/** The type that both schemas produce, and that the specs of the API fit. */
export interface SpecShape {
  readonly resource: string;
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
export function parseCapabilitySpec(spec: SpecShape, path = 'spec'): Authority {
  const stated = parseFields(spec, path);
  return { ...stated, maxDepth: stated.maxDepth ?? delegationDepthDefault };
}

/** Throws INVALID_INPUT; whether it may be handed on is for `attenuate` to say. */
export function parseDelegationSpec(
  spec: SpecShape & { readonly from?: CapabilityId | undefined },
  path = 'spec',
): StatedAuthority {
  return {
    ...parseFields(spec, path),
    ...(spec.from === undefined ? {} : { from: spec.from }),
    ...(spec.delegable === true && !spec.rights.includes('grant') ? { grantImplied: true } : {}),
  };
}

function parseFields(spec: SpecShape, path: string): StatedAuthority {
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
