import type { Pattern, Request } from './resource.js';

/** Whether `request` is one of the resources of `pattern`. Linear in the segments. */
export function matches(pattern: Pattern, request: Request): boolean {
  return includes(pattern, request, false);
}

/** Whether every request that `child` matches is matched by `parent`. Exact, so also transitive. */
export function covers(parent: Pattern, child: Pattern): boolean {
  return includes(parent, child, child.rest);
}

/** Whether there is a request that both match. */
export function overlaps(a: Pattern, b: Pattern): boolean {
  if (a.kind !== b.kind || namesProcess(a) !== namesProcess(b)) return false;
  const shared = Math.min(a.segments.length, b.segments.length);
  if (a.segments.length > shared && !b.rest) return false;
  if (b.segments.length > shared && !a.rest) return false;
  for (let index = 0; index < shared; index++) {
    const ofA = a.segments[index] ?? '';
    const ofB = b.segments[index] ?? '';
    // Two segments are nested or disjoint: literals, `*`, and suffixes of whole labels.
    if (!segmentCovers(ofA, ofB) && !segmentCovers(ofB, ofA)) return false;
  }
  return true;
}

function includes(parent: Pattern, child: Pattern | Request, childRest: boolean): boolean {
  if (parent.kind !== child.kind || namesProcess(parent) !== namesProcess(child)) return false;
  const length = parent.segments.length;
  if (parent.rest ? child.segments.length < length : child.segments.length !== length || childRest) return false;
  return parent.segments.every((segment, index) => segmentCovers(segment, child.segments[index] ?? ''));
}

/** Whether one segment of a pattern includes another one, or a name. */
export function segmentCovers(parent: string, child: string): boolean {
  if (parent === '*' || parent === child) return true;
  // `*.host`, which only the host of a net pattern can be: one or more labels before it, so never the apex.
  return parent.startsWith('*.') && child.endsWith(parent.slice(1));
}

/** Whether it is `ns:process/PID…`, which is matched only by a pattern that spells it. */
export function namesProcess(resource: Pattern | Request): boolean {
  return resource.kind === 'ns' && resource.segments.length > 1 && resource.segments[0] === 'process';
}
