import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  covers,
  matches,
  overlaps,
  type Pattern,
  parsePattern,
  parseRequest,
  type Request,
} from '../../../src/capability/resource/resource.js';

describe('matching', () => {
  it.each([
    ['tool:search', 'tool:search', true],
    ['tool:search', 'tool:search2', false],
    ['tool:search', 'command:search', false],
    ['tool:*', 'tool:search', true],
    ['tool:*', 'tool:mcp/search', false],
    ['tool:**', 'tool:mcp/search', true],
    ['tool:mcp/**', 'tool:mcp', true],
    ['tool:mcp/*/x', 'tool:mcp/github/x', true],
    ['tool:mcp/*/x', 'tool:mcp/github/y', false],
    ['fs:src/**', 'fs:src/a/b', true],
    ['fs:src/**', 'fs:src', true],
    ['fs:src/**', 'fs:src2/x', false],
    ['fs:src/**', 'fs:src/../etc', false],
    ['fs:**', 'fs:.', true],
    ['fs:.', 'fs:a', false],
    ['fs:*', 'fs:.', false],
    ['net:*.example.com/443', 'net:a.b.example.com/443', true],
    ['net:*.example.com/443', 'net:example.com/443', false],
    ['net:*.example.com/443', 'net:badexample.com/443', false],
    ['net:*.example.com/443', 'net:a.example.com/80', false],
    ['net:**', 'net:[::1]/80', true],
    ['net:127.0.0.1/80', 'net:[::ffff:127.0.0.1]/80', true],
    ['ns:**', 'ns:team/notes', true],
    ['ns:**', 'ns:process/p_1', false],
    ['ns:*/p_1', 'ns:process/p_1', false],
    ['ns:*/**', 'ns:process/p_1/x', false],
    ['ns:process/p_1/**', 'ns:process/p_1/x', true],
    ['ns:process/p_1/**', 'ns:process/p_2', false],
  ])('of %s with %s is %s', (pattern, request, expected) => {
    expect(matches(parsePattern(pattern), parseRequest(request))).toBe(expected);
  });
});

describe('coverage', () => {
  it.each([
    ['fs:src/**', 'fs:src/a/**', true],
    ['fs:src/**', 'fs:src2/**', false],
    ['fs:src/*', 'fs:src/**', false],
    ['fs:**', 'fs:.', true],
    ['fs:*/**', 'fs:**', false],
    ['tool:*/**', 'tool:**', true],
    ['tool:a', 'tool:*', false],
    ['tool:**', 'net:**', false],
    ['ns:**', 'ns:process/p_1/**', false],
    ['ns:process/p_1/**', 'ns:process/p_1/a', true],
    ['ns:**', 'ns:process', true],
    ['net:*.com/443', 'net:*.example.com/443', true],
    ['net:*.example.com/443', 'net:*.com/443', false],
    ['net:*.example.com/443', 'net:example.com/443', false],
    ['net:*/443', 'net:**', false],
  ])('of %s over %s is %s', (parent, child, expected) => {
    expect(covers(parsePattern(parent), parsePattern(child))).toBe(expected);
  });
});

describe('overlap', () => {
  it.each([
    ['tool:a/*', 'tool:*/b', true],
    ['tool:a/*', 'tool:b/**', false],
    ['tool:a', 'tool:a/**', true],
    ['tool:a', 'tool:a/*', false],
    ['fs:.', 'fs:**', true],
    ['ns:**', 'ns:process/p_1', false],
    ['ns:**', 'ns:process', true],
    ['net:*.a.com/443', 'net:*.com/*', true],
    ['net:*.a.com/443', 'net:*.b.com/443', false],
    ['net:*.a.com/443', 'net:*.a.com/80', false],
  ])('of %s and %s is %s, both ways', (a, b, expected) => {
    const [one, other] = [parsePattern(a), parsePattern(b)];
    expect([overlaps(one, other), overlaps(other, one)]).toEqual([expected, expected]);
  });
});

/** Every pattern over two names and every request over three, one segment longer: no name of a pattern is special. */
const worlds = {
  tool: world('tool', ['a', 'b'], 'z'),
  fs: world('fs', ['a', 'b'], 'z'),
  ns: world('ns', ['process', 'p'], 'z'),
  net: netWorld(),
};

describe.each(Object.entries(worlds))('on a small alphabet of %s', (_, { patterns, requests }) => {
  const matched = new Map(patterns.map((pattern) => [pattern, requests.map((request) => matches(pattern, request))]));
  const rowOf = (pattern: Pattern) => matched.get(pattern) ?? [];

  it('coverage is exactly the inclusion of what is matched', () => {
    const wrong = pairs(patterns).filter(([parent, child]) => {
      const [above, below] = [rowOf(parent), rowOf(child)];
      return covers(parent, child) !== below.every((hit, index) => !hit || above[index] === true);
    });
    expect(wrong.map(([parent, child]) => `${parent.text} ⊇ ${child.text}`)).toEqual([]);
  });

  it('overlap is exactly a request that both match', () => {
    const wrong = pairs(patterns).filter(([a, b]) => {
      const other = rowOf(b);
      return overlaps(a, b) !== rowOf(a).some((hit, index) => hit && other[index] === true);
    });
    expect(wrong.map(([a, b]) => `${a.text} ∩ ${b.text}`)).toEqual([]);
  });

  it('every pattern matches something, and different texts match different things', () => {
    const rows = patterns.map((pattern) => rowOf(pattern).map(Number).join(''));
    expect([rows.filter((row) => !row.includes('1')), new Set(rows).size]).toEqual([[], patterns.length]);
  });
});

describe('on longer patterns', () => {
  const segment = fc.constantFrom('a', 'b', 'process', '*');
  const kind = fc.constantFrom('tool', 'fs', 'ns', 'object');
  const pattern = fc
    .tuple(kind, fc.array(segment, { minLength: 1, maxLength: 6 }), fc.boolean())
    .map(([of, segments, rest]) => parsed(`${of}:${[...segments, ...(rest ? ['**'] : [])].join('/')}`))
    .filter((value) => value !== undefined);
  const widened = pattern.chain((child) =>
    fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }).map((flips) => [widen(child, flips), child] as const),
  );

  it('coverage is sound: what the child matches, the parent matches', () => {
    let covered = 0;
    fc.assert(
      fc.property(fc.oneof(widened, fc.tuple(pattern, pattern)), fc.gen(), ([parent, child], gen) => {
        if (!covers(parent, child)) return;
        covered++;
        const request = instance(child, () => gen(() => fc.constantFrom('a', 'b', 'z', 'process')));
        if (matches(child, request)) expect(matches(parent, request)).toBe(true);
      }),
      { numRuns: 3000 },
    );
    expect(covered).toBeGreaterThan(300);
  });

  it('coverage is transitive', () => {
    let chains = 0;
    const chain = widened.chain(([middle, low]) =>
      fc
        .array(fc.boolean(), { minLength: 8, maxLength: 8 })
        .map((flips) => [widen(middle, flips), middle, low] as const),
    );
    fc.assert(
      fc.property(fc.oneof(chain, fc.tuple(pattern, pattern, pattern)), ([high, middle, low]) => {
        if (!covers(high, middle) || !covers(middle, low)) return;
        chains++;
        expect(covers(high, low)).toBe(true);
      }),
      { numRuns: 3000 },
    );
    expect(chains).toBeGreaterThan(300);
  });

  it('coverage implies overlap, and every pattern covers itself', () => {
    fc.assert(
      fc.property(widened, ([parent, child]) => {
        expect(covers(child, child)).toBe(true);
        if (covers(parent, child)) expect(overlaps(parent, child)).toBe(true);
      }),
    );
  });
});

function world(kind: string, names: readonly string[], other: string) {
  const patterns = texts([...names, '*'], 3).flatMap((body) => [body, body === '' ? '**' : `${body}/**`]);
  const requests = texts([...names, other], 4);
  return gather(kind, [...patterns, '.'], [...requests, '.']);
}

function netWorld() {
  const hosts = ['*', '*.com', '*.a.com', '*.b.a.com', 'com', 'a.com', 'b.a.com', '[::1]', '1.2.3.4'];
  const named = ['com', 'a.com', 'b.a.com', 'c.b.a.com', 'z.com', 'z.a.com', 'z.org', '[::1]', '[::2]', '1.2.3.4'];
  const patterns = hosts.flatMap((host) => ['*', '**', '80', '443'].map((port) => `${host}/${port}`));
  const requests = named.flatMap((host) => ['80', '443', '81'].map((port) => `${host}/${port}`));
  return gather('net', [...patterns, '**'], requests);
}

/** The bodies that can be parsed, each canonical text once. */
function gather(kind: string, patternBodies: readonly string[], requestBodies: readonly string[]) {
  const patterns = patternBodies.map((body) => parsed(`${kind}:${body}`)).filter((value) => value !== undefined);
  const requests = requestBodies
    .filter((body) => body !== '' && (kind === 'fs' || body !== '.'))
    .map((body) => parseRequest(`${kind}:${body}`));
  return { patterns: [...new Map(patterns.map((value) => [value.text, value])).values()], requests };
}

function texts(alphabet: readonly string[], lengthMax: number): string[] {
  const all = [''];
  for (let start = 0, length = 0; length < lengthMax; length++) {
    const end = all.length;
    for (; start < end; start++) for (const name of alphabet) all.push([all[start], name].filter(Boolean).join('/'));
  }
  return all;
}

function pairs(patterns: readonly Pattern[]): [Pattern, Pattern][] {
  return patterns.flatMap((a) => patterns.map((b): [Pattern, Pattern] => [a, b]));
}

function parsed(text: string): Pattern | undefined {
  try {
    return parsePattern(text);
  } catch {
    return undefined; // Not a pattern: the generators above make some that are refused.
  }
}

/** A pattern that is the same or wider, save where it would not be one. */
function widen(pattern: Pattern, flips: readonly boolean[]): Pattern {
  const kept = flips[7] === true ? pattern.segments.slice(0, flips[6] === true ? 1 : 2) : pattern.segments;
  const segments = kept.map((segment, index) => (flips[index] === true ? '*' : segment));
  const rest = pattern.rest || kept.length < pattern.segments.length;
  return parsed(`${pattern.kind}:${[...segments, ...(rest ? ['**'] : [])].join('/')}`) ?? pattern;
}

function instance(pattern: Pattern, name: () => string): Request {
  const segments = [...pattern.segments, ...(pattern.rest ? ['*', '*'] : [])];
  return parseRequest(`${pattern.kind}:${segments.map((segment) => (segment === '*' ? name() : segment)).join('/')}`);
}
