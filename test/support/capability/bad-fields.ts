import fc from 'fast-check';

type BadField = readonly [field: string, value: unknown];

/** Fields of a spec about `tool:a`, with values that cannot be there. */
export const badFields: fc.Arbitrary<BadField> = fc.constantFrom(
  ...bad('resource', 'widget:x', 'tool', 'tool:', '', 'tool:a*', 'tool:a?', 'tool:a[b]', '*:*', 'TOOL:a'),
  ...bad('resource', 'tool:a//b', 'tool:../a', 'tool:**/a', 'ns:process/*/x', 'fs:/etc', 'net:a.com', 7, null),
  ...bad('rights', ['fly'], [], ['read'], ['call', 'spawn'], 'call', [7]),
  ...bad('constraints', { q: { magic: 1 } }, { q: {} }, { q: 1 }, { 'a..b': { any: true } }, { '*': { eq: 1 } }),
  ...bad('constraints', { q: { range: [2, 'x'] } }, { q: { eq: 1, range: [1, 2] } }, 'q'),
  ...bad('uses', 0, -1, 0.5, Number.NaN, '1', 2 ** 60, null),
  ...bad('expiresAt', -1, 0.5, Number.POSITIVE_INFINITY, '1'),
  ...bad('maxDepth', 65, -1, 1.5),
  ...bad('grantable', ['fly'], ['read']),
  ...bad('delegable', 'yes'),
);

function bad(field: string, ...values: unknown[]): BadField[] {
  return values.map((value) => [field, value]);
}
