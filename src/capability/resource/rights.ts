import { docPages } from '../../base/doc-pages.js';
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

/** An action on a resource. Each kind has rights of its own: docs/tables.md#resource-kinds-and-rights. */
export type Right = (typeof rights)[number];

interface KindDescription {
  readonly rights: readonly Right[];
  /** A description of the kind and of its rights. */
  readonly meaning: string;
  /** A pattern of such resources. */
  readonly example: string;
}

/** The rights of each kind of resource, `grant` among them: the one list, from which docs/tables.md is generated. */
export const kindDescriptions: Readonly<Record<ResourceKind, KindDescription>> = {
  tool: { rights: ['call', 'grant'], meaning: 'A tool, by its name.', example: 'tool:search' },
  command: {
    rights: ['call', 'grant'],
    meaning: 'A program of the operating system, by its name or path.',
    example: 'command:git',
  },
  model: { rights: ['call', 'grant'], meaning: 'A language model, by provider and name.', example: 'model:openai/**' },
  net: {
    rights: ['call', 'grant'],
    meaning:
      'A host and port that requests are sent to. An address that is not public is asked for as well, by its number.',
    example: 'net:*.example.com/443',
  },
  fs: {
    rights: ['read', 'write', 'create', 'delete', 'list', 'grant'],
    meaning: 'A file or folder of the workspace. `write` changes a file that exists, `create` makes a new one.',
    example: 'fs:docs/**',
  },
  object: {
    rights: ['read', 'write', 'delete', 'materialize', 'link', 'diff', 'grant'],
    meaning: 'One object of memory, by its id. `materialize` puts it into the context of a model.',
    example: 'object:o_06dkv7hq2x9m4t3n8w1c',
  },
  ns: {
    rights: ['read', 'write', 'create', 'delete', 'list', 'materialize', 'link', 'diff', 'grant'],
    meaning: 'The objects of a namespace.',
    example: 'ns:team/notes',
  },
  process: {
    rights: ['read', 'signal', 'wait', 'send', 'grant'],
    meaning:
      'A process, by its pid. A parent needs no capability to signal, wait for or send to its children, nor a child to send to its parent.',
    example: 'process:p_06dkv7hq2x9m4t3n8w1c',
  },
  image: {
    rights: ['spawn', 'grant'],
    meaning:
      'An image, by its name. Processes need no capability to spawn it; a rule on `spawn` forbids it, or has a person asked.',
    example: 'image:crawler',
  },
  secret: {
    rights: ['read', 'grant'],
    meaning: 'A secret that variables of programs refer to, by its name.',
    example: 'secret:GITHUB_TOKEN',
  },
  event: {
    rights: ['read', 'grant'],
    meaning: 'Events, by type. The kernel itself asks for it nowhere; tools of an application can.',
    example: 'event:process.exited',
  },
};

/** The rights that resources of `kind` know, `grant` among them. */
export function rightsOfKind(kind: ResourceKind): readonly Right[] {
  return kindDescriptions[kind].rights;
}

/** `input` as a set of rights. Throws INVALID_INPUT for a right that `kind` does not know, and for none at all. */
export function parseRights(kind: ResourceKind, input: readonly string[], path = 'rights'): readonly Right[] {
  const known = rightsOfKind(kind);
  const hint = `${kind} knows: ${known.join(', ')}. See ${docPages.rights}.`;
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
