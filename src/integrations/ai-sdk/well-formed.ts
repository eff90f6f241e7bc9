/** Deeper than any call that is meant to be made. */
const depthMax = 48;

/**
 * Data of a model as it can be kept: models write whatever they like, also half a character and objects within objects without
 * end. What is too deep is left out.
 */
export function wellFormed<T>(value: T): T {
  return copied(value, 0) as T;
}

function copied(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= depthMax) return null;
  if (Array.isArray(value)) return value.map((item) => copied(item, depth + 1) ?? null);
  const members = Object.entries(value).filter(([key, member]) => member !== undefined && key !== '__proto__');
  return Object.fromEntries(members.map(([key, member]) => [key.toWellFormed(), copied(member, depth + 1)]));
}
