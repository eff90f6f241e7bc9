import { invalidInput } from '../../base/errors.js';
import type { ResourceKind } from './resource.js';

/** All rights on resources. A set of rights is an array without duplicates in this order. */
export const rights = [
  'read',
  'write',
  'create',
  'delete',
  'list',
  'call',
  'spawn',
  'signal',
  'wait',
  'send',
  'materialize',
  'link',
  'diff',
  'grant',
] as const;

export type Right = (typeof rights)[number];

const table: Record<ResourceKind, readonly Right[]> = {
  tool: ['call', 'grant'],
  command: ['call', 'grant'],
  model: ['call', 'grant'],
  net: ['call', 'grant'],
  fs: ['read', 'write', 'create', 'delete', 'list', 'grant'],
  object: ['read', 'write', 'delete', 'materialize', 'link', 'diff', 'grant'],
  ns: ['read', 'write', 'create', 'delete', 'list', 'materialize', 'link', 'diff', 'grant'],
  process: ['read', 'signal', 'wait', 'send', 'grant'],
  image: ['spawn', 'grant'],
  secret: ['read', 'grant'],
  event: ['read', 'grant'],
};

/** The rights that resources of `kind` know, `grant` among them. */
export function rightsOfKind(kind: ResourceKind): readonly Right[] {
  return table[kind];
}

/** `input` as a set of rights. Throws INVALID_INPUT for a right that `kind` does not know, and for none at all. */
export function parseRights(kind: ResourceKind, input: readonly string[], path = 'rights'): readonly Right[] {
  const known = rightsOfKind(kind);
  const hint = `${kind} knows: ${known.join(', ')}.`;
  if (input.length === 0) throw invalidInput(path, 'no right is given', hint);
  for (const right of input) {
    if (!(known as readonly string[]).includes(right)) {
      throw invalidInput(path, `${JSON.stringify(right.slice(0, 64))} is not a right on ${kind}`, hint);
    }
  }
  return known.filter((right) => input.includes(right));
}

/** Throws INVALID_INPUT for a right that `kind` does not know. */
export function parseRight(kind: ResourceKind, input: string, path = 'right'): Right {
  const known = rightsOfKind(kind).find((right) => right === input);
  return known ?? (parseRights(kind, [input], path)[0] as Right);
}

export function maskOfRight(right: Right): number {
  return 1 << rights.indexOf(right);
}

export function unionRights(a: readonly Right[], b: readonly Right[]): readonly Right[] {
  return rightsOfMask(maskOfRights(a) | maskOfRights(b));
}

/** The rights of `a` that are not in `b`, which is empty exactly when `a` lies within `b`. */
export function rightsBeyond(a: readonly Right[], b: readonly Right[]): readonly Right[] {
  return a.filter((right) => !b.includes(right));
}

/** A set of rights as a number to store: bit n stands for the n-th right, so the order above never changes. */
export function maskOfRights(set: readonly Right[]): number {
  return set.reduce((mask, right) => mask | (1 << rights.indexOf(right)), 0);
}

export function rightsOfMask(mask: number): readonly Right[] {
  return rights.filter((_, index) => (mask & (1 << index)) !== 0);
}
