import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { coveringTexts, PatternIndex } from '../../../src/capability/resource/pattern-index.js';
import {
  covers,
  matches,
  type Pattern,
  parsePattern,
  parseRequest,
  type Request,
} from '../../../src/capability/resource/resource.js';
import { seeded } from '../../support/seeded.js';

const kind = fc.constantFrom('tool', 'fs', 'ns', 'process');
const name = fc.constantFrom('a', 'b', 'p');
const host = fc
  .array(fc.constantFrom('a', 'b', 'com'), { minLength: 1, maxLength: 4 })
  .map((labels) => labels.join('.'));
const port = fc.constantFrom('80', '443');

const bodies = (segment: fc.Arbitrary<string>) =>
  fc
    .tuple(kind, fc.constantFrom('', 'process/', 'process/p/'), fc.array(segment, { minLength: 1, maxLength: 6 }))
    .map(([of, start, segments]) => `${of}:${of === 'ns' ? start : ''}${segments.join('/')}`);
const netHost = fc.oneof(
  host,
  host.map((text) => `*.${text}`),
  fc.constant('*'),
);

const request: fc.Arbitrary<Request> = fc
  .oneof(
    { weight: 3, arbitrary: bodies(name) },
    fc.tuple(host, port).map((parts) => `net:${parts.join('/')}`),
    fc.constantFrom('fs:.', 'ns:process'),
  )
  .map(parseRequest);

const pattern: fc.Arbitrary<Pattern> = fc
  .oneof(
    {
      weight: 3,
      arbitrary: fc
        .tuple(bodies(fc.oneof(name, fc.constant('*'))), fc.boolean())
        .map(([body, rest]) => (rest ? `${body}/**` : body)),
    },
    fc.tuple(netHost, fc.oneof(port, fc.constant('*'))).map((parts) => `net:${parts.join('/')}`),
    fc.constantFrom('fs:.', 'fs:**', 'fs:*/**', 'ns:process', 'ns:**', 'net:**', 'tool:**'),
  )
  .map(parsed)
  .filter((value) => value !== undefined);

/** Patterns that often include `resource`: itself, with some of its names replaced, cut or followed by more. */
function near(resource: Pattern | Request): fc.Arbitrary<Pattern> {
  const { kind: of, segments } = resource;
  const stars = fc.array(fc.boolean(), { minLength: segments.length, maxLength: segments.length });
  return fc
    .tuple(stars, fc.nat(segments.length), fc.boolean())
    .map(([star, kept, whole]) => {
      const some = segments.map((segment, index) => (star[index] === true ? '*' : segment));
      return [...(whole ? some : [...some.slice(0, kept), '**'])].join('/') || '.';
    })
    .map((body) => parsed(`${of}:${body}`))
    .filter((value) => value !== undefined);
}

/** A request or a pattern, and many patterns, some of which include it. */
const sets = fc
  .oneof(request, pattern)
  .chain((wanted) =>
    fc.tuple(
      fc.constant(wanted),
      fc.array(fc.oneof(near(wanted), pattern), { minLength: 1, maxLength: 20, size: 'max' }),
    ),
  );

const requestSets = request.chain((wanted) =>
  fc.tuple(fc.constant(wanted), fc.array(fc.oneof(near(wanted), pattern), { maxLength: 20, size: 'max' }), fc.nat(19)),
);

describe('an index of patterns', () => {
  it('finds exactly what matches a request, each as often as it is there', () => {
    let found = 0;
    fc.assert(
      fc.property(requestSets, ([wanted, patterns]) => {
        const index = new PatternIndex<number>();
        for (const [at, one] of patterns.entries()) index.add(one, at);
        const expected = patterns.flatMap((one, at) => (matches(one, wanted) ? [at] : []));
        expect(ordered(index.findMatching(wanted))).toEqual(expected);
        found += expected.length;
      }),
      seeded({ numRuns: 3000 }),
    );
    expect(found).toBeGreaterThan(3000);
  });

  it('forgets what is removed and nothing else', () => {
    fc.assert(
      fc.property(requestSets, ([wanted, patterns, gone]) => {
        const index = new PatternIndex<number>();
        for (const [at, one] of patterns.entries()) index.add(one, at);
        for (const [at, one] of patterns.entries()) if (at <= gone) index.remove(one, at);
        const expected = patterns.flatMap((one, at) => (at > gone && matches(one, wanted) ? [at] : []));
        expect(ordered(index.findMatching(wanted))).toEqual(expected);
      }),
      seeded({ numRuns: 1000 }),
    );
  });
});

describe('the texts that may include a resource', () => {
  it('are those of all stored patterns that match or cover it, and not many more', async () => {
    let included = 0;
    await fc.assert(
      fc.asyncProperty(sets, async ([wanted, patterns]) => {
        const stored = patterns.map(({ text }) => text);
        const texts = await coveringTexts(wanted, async (prefix) => stored.some((text) => text.startsWith(prefix)));
        const including = patterns.filter((one) =>
          wanted.form === 'request' ? matches(one, wanted) : covers(one, wanted),
        );
        expect(including.map(({ text }) => text).filter((text) => !texts.includes(text))).toEqual([]);
        // Four ways through the first two segments; beyond them only ways that something stored goes.
        expect(texts.length).toBeLessThanOrEqual(16 + 4 * stored.length * wanted.segments.length);
        included += including.length;
      }),
      seeded({ numRuns: 3000 }),
    );
    expect(included).toBeGreaterThan(3000);
  });

  it('do not double with every segment of a long name', async () => {
    const long = parseRequest(`tool:${Array.from({ length: 200 }, () => 'a').join('/')}`);
    expect(await coveringTexts(long, async () => false)).toHaveLength(7);
  });
});

function ordered(numbers: readonly number[]): number[] {
  return [...numbers].sort((a, b) => a - b);
}

/** Undefined for what is not a pattern: the generators above make some that are refused. */
function parsed(text: string): Pattern | undefined {
  try {
    return parsePattern(text);
  } catch {
    return undefined;
  }
}
