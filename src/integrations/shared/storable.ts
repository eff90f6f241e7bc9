/** Deeper than the input of any useful call. */
const depthMax = 48;

/**
 * A copy that can be stored. Models produce any data, including lone surrogates and objects nested without limit: texts are
 * made well-formed, bytes become base64, and values below `depthMax` and those that JSON cannot hold become null.
 */
export function toStorable<T>(value: T): T {
  return copyStorable(value, 0) as T;
}

function copyStorable(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value === 'boolean' || value === undefined || value === null) return value;
  if (typeof value !== 'object') return null;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof Date || value instanceof URL) return String(value.toJSON());
  if (depth >= depthMax) return null;
  if (Array.isArray(value)) return value.map((item) => copyStorable(item, depth + 1) ?? null);
  const members = Object.entries(value).filter(([key, member]) => member !== undefined && key !== '__proto__');
  return Object.fromEntries(members.map(([key, member]) => [key.toWellFormed(), copyStorable(member, depth + 1)]));
}
