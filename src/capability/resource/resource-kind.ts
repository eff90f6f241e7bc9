/** What a resource can be. One kind never covers another. */
export const resourceKinds = [
  'tool',
  'fs',
  'object',
  'ns',
  'process',
  'net',
  'secret',
  'image',
  'model',
  'command',
  'event',
] as const;

export type ResourceKind = (typeof resourceKinds)[number];

export function isResourceKind(text: string): text is ResourceKind {
  return (resourceKinds as readonly string[]).includes(text);
}
