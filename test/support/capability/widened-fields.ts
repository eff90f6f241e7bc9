import { accepts } from '../../../src/capability/constraint/constraints.js';
import { covers, matches, parsePattern, parseRequest } from '../../../src/capability/resource/resource.js';
import type { Capability, DelegationSpec, Right } from '../../../src/index.js';
import type { Use } from './arbitrary-specs.js';

/** Whether a capability is for this use, by itself. */
export function allowsUse({ resource, rights, constraints }: Capability, use: Use): boolean {
  const isAbout = matches(parsePattern(resource), parseRequest(use.resource));
  return isAbout && rights.includes(use.right) && accepts(constraints, use.args).ok;
}

export function allowsHandingOn(capability: Capability, use: Use): boolean {
  return capability.rights.includes('grant') && allowsUse({ ...capability, rights: capability.grantable ?? [] }, use);
}

/** The fields in which what was asked for is wider than what it is to come from. */
export function widerStatedFields(from: Capability, spec: DelegationSpec, manner: 'delegate' | 'derive'): string[] {
  const rights: readonly Right[] = spec.delegable === true ? [...spec.rights, 'grant'] : spec.rights;
  const others = rights.filter((right) => right !== 'grant');
  const grantable = !rights.includes('grant') ? [] : (spec.grantable ?? (spec.delegable === true ? rights : others));
  const above = manner === 'derive' ? from.rights : (from.grantable ?? []);
  const depth = from.depth + 1;
  return [
    ...(covers(parsePattern(from.resource), parsePattern(spec.resource)) ? [] : ['resource']),
    ...(manner === 'derive' || from.rights.includes('grant') ? [] : ['rights']),
    ...(isWithin(rights, above) ? [] : ['rights', 'delegable']),
    ...(isWithin(grantable, from.grantable ?? []) ? [] : ['grantable']),
    ...(isAtMost(spec.uses ?? from.uses, from.uses) ? [] : ['uses']),
    ...(isAtMost(spec.expiresAt ?? from.expiresAt, from.expiresAt) ? [] : ['expiresAt']),
    ...(isAtMost(spec.maxDepth ?? from.maxDepth, from.maxDepth) && depth <= (spec.maxDepth ?? from.maxDepth)
      ? []
      : ['maxDepth']),
  ];
}

/** The fields in which what was given is wider than what it came from. */
export function widerGrantedFields(
  from: Capability,
  given: Capability,
  manner: 'delegate' | 'derive',
  all: readonly Use[],
): string[] {
  const { resource } = from;
  const everything = { ...given, rights: all.map(({ right }) => right) };
  const isWiderFor = (use: Use) => allowsUse(everything, use) && !allowsUse({ ...from, rights: [use.right] }, use);
  return [
    ...widerStatedFields(from, { ...given, delegable: false }, manner),
    ...(all.some(isWiderFor) ? [`${given.resource} or its constraints, beside ${resource}`] : []),
    ...(given.parent === from.id && given.depth === from.depth + 1 ? [] : ['parent']),
    ...(isAtMost(given.uses, from.uses) && isAtMost(given.expiresAt, from.expiresAt) ? [] : ['limits']),
  ];
}

function isWithin(some: readonly Right[], all: readonly Right[]): boolean {
  return some.every((right) => all.includes(right));
}

/** No number is no limit. */
function isAtMost(own: number | undefined, limit: number | undefined): boolean {
  return limit === undefined || (own !== undefined && own <= limit);
}
