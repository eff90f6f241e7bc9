import { meet, narrower } from '../constraint/constraints.js';
import { constraintsExcess } from '../constraint/constraints-spec.js';
import { covers } from '../resource/resource-matching.js';
import { type Right, rightsBeyond } from '../resource/rights.js';
import type { Authority } from './capability.js';
import type { StatedAuthority } from './capability-spec.js';

/** Authority at its place in a chain of derivations; a root grant has depth 0. */
export interface DerivedAuthority extends Authority {
  readonly depth: number;
}

/** The field in which what was asked for is wider than what it would come from. */
export interface Amplification {
  readonly refused:
    | 'resource'
    | 'rights'
    | 'delegable'
    | 'grantable'
    | 'constraints'
    | 'expiresAt'
    | 'uses'
    | 'maxDepth';
  readonly detail: string;
}

/**
 * What `stated` amounts to when it comes from `parent`, or the field in which it would be wider. To `delegate` is to
 * hand on, by what the parent may grant; to `derive` is to keep a narrower copy, by what the parent may do.
 */
export function attenuate(
  parent: DerivedAuthority,
  stated: StatedAuthority,
  how: 'delegate' | 'derive',
): DerivedAuthority | Amplification {
  if (!covers(parent.pattern, stated.pattern)) {
    return refused('resource', `${stated.pattern.text} is not within ${parent.pattern.text}`);
  }
  return (
    (how === 'delegate' ? beyondGrant(parent, stated) : beyondOwn(parent, stated)) ??
    beyondConstraints(parent, stated) ??
    beyondNumbers(parent, stated) ??
    derived(parent, stated)
  );
}

function beyondGrant(parent: DerivedAuthority, stated: StatedAuthority): Amplification | undefined {
  if (!parent.rights.includes('grant')) return refused('rights', 'the right "grant" is not there');
  const rights = rightsBeyond(stated.rights, parent.grantable);
  if (rights.length > 0) return refused(rightsField(rights, stated), beyond(rights, 'may be granted'));
  return beyondGrantable(parent, stated);
}

function beyondOwn(parent: DerivedAuthority, stated: StatedAuthority): Amplification | undefined {
  const rights = rightsBeyond(stated.rights, parent.rights);
  if (rights.length > 0) return refused(rightsField(rights, stated), beyond(rights, 'are held'));
  return beyondGrantable(parent, stated);
}

function rightsField(beyond: readonly Right[], stated: StatedAuthority): 'rights' | 'delegable' {
  return stated.grantImplied === true && beyond.length === 1 && beyond[0] === 'grant' ? 'delegable' : 'rights';
}

function beyondGrantable(parent: DerivedAuthority, stated: StatedAuthority): Amplification | undefined {
  const grantable = rightsBeyond(stated.grantable, parent.grantable);
  return grantable.length > 0 ? refused('grantable', beyond(grantable, 'may be granted')) : undefined;
}

function beyondConstraints(parent: DerivedAuthority, stated: StatedAuthority): Amplification | undefined {
  if (stated.constraints === undefined) return undefined;
  const order = narrower(stated.constraints, parent.constraints);
  if (!order.ok) return refused('constraints', `the constraint on ${JSON.stringify(order.path)} is missing or wider`);
  const excess = constraintsExcess(joined(parent, stated.constraints));
  return excess === undefined ? undefined : refused('constraints', `joined with those above it ${excess}`);
}

function beyondNumbers(parent: DerivedAuthority, stated: StatedAuthority): Amplification | undefined {
  for (const field of ['expiresAt', 'uses', 'maxDepth'] as const) {
    const limit = parent[field];
    const own = stated[field];
    if (own !== undefined && limit !== undefined && own > limit) return refused(field, `${own} is more than ${limit}`);
  }
  const depth = parent.depth + 1;
  const depthMax = stated.maxDepth ?? parent.maxDepth;
  return depth > depthMax ? refused('maxDepth', `it would be at depth ${depth} of at most ${depthMax}`) : undefined;
}

function derived(parent: DerivedAuthority, stated: StatedAuthority): DerivedAuthority {
  const constraints = stated.constraints === undefined ? parent.constraints : joined(parent, stated.constraints);
  const uses = stated.uses ?? parent.uses;
  const expiresAt = stated.expiresAt ?? parent.expiresAt;
  return {
    pattern: stated.pattern,
    rights: stated.rights,
    grantable: stated.grantable,
    delegable: stated.delegable,
    ...(constraints === undefined ? {} : { constraints }),
    ...(uses === undefined ? {} : { uses }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    maxDepth: stated.maxDepth ?? parent.maxDepth,
    depth: parent.depth + 1,
  };
}

function joined(parent: DerivedAuthority, own: NonNullable<Authority['constraints']>) {
  return parent.constraints === undefined ? own : meet(parent.constraints, own);
}

function beyond(rights: readonly Right[], what: string): string {
  return `${rights.join(', ')}: not among those that ${what}`;
}

function refused(field: Amplification['refused'], detail: string): Amplification {
  return { refused: field, detail };
}
