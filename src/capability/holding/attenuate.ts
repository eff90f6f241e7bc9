import type { Constraints } from '../constraint/atoms.js';
import { checkNarrower, constrainsEnvironment, meetConstraints } from '../constraint/constraints.js';
import { constraintsExcess } from '../constraint/constraints-spec.js';
import { covers } from '../resource/resource.js';
import { type Right, rightsBeyond } from '../resource/rights.js';
import type { Authority } from './capability.js';
import type { StatedAuthority } from './capability-spec.js';

/** Authority at its place in a chain of derivations; a root grant has depth 0. */
export interface DerivedAuthority extends Authority {
  readonly depth: number;
}

/** The field in which the stated authority is wider than the one that it would be derived from. */
export interface Amplification {
  readonly exceeded:
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
 * The authority that `stated` derives from `parent`, or the field in which it would be wider. To `delegate` is to hand on
 * within the grantable rights of the parent; to `derive` is to keep a narrower copy within its rights.
 */
export function attenuate(
  parent: DerivedAuthority,
  stated: StatedAuthority,
  how: 'delegate' | 'derive',
): DerivedAuthority | Amplification {
  if (!covers(parent.pattern, stated.pattern)) {
    return amplification('resource', `${stated.pattern.text} is not within ${parent.pattern.text}`);
  }
  return (
    (how === 'delegate' ? exceedsGrant(parent, stated) : exceedsOwn(parent, stated)) ??
    exceedsConstraints(parent, stated) ??
    exceedsLimits(parent, stated) ??
    derivedAuthority(parent, stated)
  );
}

function exceedsGrant(parent: DerivedAuthority, stated: StatedAuthority): Amplification | undefined {
  if (!parent.rights.includes('grant')) return amplification('rights', 'the right "grant" is not there');
  const rights = rightsBeyond(stated.rights, parent.grantable);
  if (rights.length > 0) return amplification(rightsField(rights, stated), rightsDetail(rights, 'may be granted'));
  return exceedsGrantable(parent, stated);
}

function exceedsOwn(parent: DerivedAuthority, stated: StatedAuthority): Amplification | undefined {
  const rights = rightsBeyond(stated.rights, parent.rights);
  if (rights.length > 0) return amplification(rightsField(rights, stated), rightsDetail(rights, 'are held'));
  return exceedsGrantable(parent, stated);
}

function rightsField(beyond: readonly Right[], stated: StatedAuthority): 'rights' | 'delegable' {
  return stated.grantImplied === true && beyond.length === 1 && beyond[0] === 'grant' ? 'delegable' : 'rights';
}

function exceedsGrantable(parent: DerivedAuthority, stated: StatedAuthority): Amplification | undefined {
  const grantable = rightsBeyond(stated.grantable, parent.grantable);
  return grantable.length > 0 ? amplification('grantable', rightsDetail(grantable, 'may be granted')) : undefined;
}

function exceedsConstraints(parent: DerivedAuthority, stated: StatedAuthority): Amplification | undefined {
  if (stated.constraints === undefined) return undefined;
  const order = checkNarrower(stated.constraints, parent.constraints);
  if (!order.ok)
    return amplification('constraints', `the constraint on ${JSON.stringify(order.path)} is missing or wider`);
  if (opensEnvironment(parent, stated.constraints))
    return amplification('constraints', 'the environment of a command is opened, which is closed above');
  const excess = constraintsExcess(joinConstraints(parent, stated.constraints));
  return excess === undefined ? undefined : amplification('constraints', `joined with those above it ${excess}`);
}

/** Whether variables of a command would be allowed that the parent refuses: its `*` does not open them. */
function opensEnvironment({ pattern, constraints }: DerivedAuthority, stated: Constraints): boolean {
  if (pattern.kind !== 'command' || constraints === undefined) return false;
  return constrainsEnvironment(stated) && !constrainsEnvironment(constraints);
}

function exceedsLimits(parent: DerivedAuthority, stated: StatedAuthority): Amplification | undefined {
  for (const field of ['expiresAt', 'uses', 'maxDepth'] as const) {
    const limit = parent[field];
    const own = stated[field];
    if (own !== undefined && limit !== undefined && own > limit)
      return amplification(field, `${own} is more than ${limit}`);
  }
  const depth = parent.depth + 1;
  const depthMax = stated.maxDepth ?? parent.maxDepth;
  return depth > depthMax
    ? amplification('maxDepth', `it would be at depth ${depth} of at most ${depthMax}`)
    : undefined;
}

function derivedAuthority(parent: DerivedAuthority, stated: StatedAuthority): DerivedAuthority {
  const constraints =
    stated.constraints === undefined ? parent.constraints : joinConstraints(parent, stated.constraints);
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

/** The constraints that are stored: those of the parent and its own. */
function joinConstraints(parent: DerivedAuthority, own: Constraints): Constraints {
  return parent.constraints === undefined ? own : meetConstraints(parent.constraints, own);
}

function rightsDetail(rights: readonly Right[], what: string): string {
  return `${rights.join(', ')}: not among those that ${what}`;
}

function amplification(field: Amplification['exceeded'], detail: string): Amplification {
  return { exceeded: field, detail };
}
