import { describe, expect, it } from 'vitest';
import { canonicalJson, type JsonValue, sha256Hex } from '../../../src/base/json.js';
import { accepts, checkNarrower } from '../../../src/capability/constraint/constraints.js';
import { parseConstraints } from '../../../src/capability/constraint/constraints-spec.js';

const workspace = '/srv/space';
const hash = sha256Hex(canonicalJson({ a: 1, b: [true] }));

describe('an atom', () => {
  it.each<[JsonValue, JsonValue[], JsonValue[]]>([
    [{ any: true }, [null, 0, '', [], {}, { a: [1] }], []],
    [{ eq: { a: 1, b: [0] } }, [{ b: [-0], a: 1 }], [{ a: 1 }, { a: 1, b: [0], c: 0 }, { a: '1', b: [0] }, null, [1]]],
    [{ eq: null }, [null], [0, '', false, {}, []]],
    [{ in: [1, 'a', [2]] }, [1, 'a', [2]], [2, 'b', [1], [2, 2], '1', [], {}]],
    [{ range: [-1, 2.5] }, [-1, 0, 2.5], [-1.1, 2.6, '1', null, [1], true]],
    [{ length: [1, 2] }, ['a', 'ab', 'é', [1], [1, 2]], ['', 'abc', 'éa', [], [1, 2, 3], 1, { length: 1 }]],
    [{ prefix: 'git ' }, ['git ', 'git log'], ['git', 'Git log', ' git log', ['git '], 1]],
    [{ subset: ['a', 1] }, [[], ['a'], [1, 'a', 1]], [['b'], ['a', 'b'], 'a', {}, null]],
    [{ hash }, [{ b: [true], a: 1 }], [{ a: 1 }, hash, null]],
    [{ all: [{ prefix: 'a' }, { length: [2, 3] }] }, ['ab', 'abc'], ['a', 'bb', 'abcd', ['a', 'b']]],
    [
      { path: 'src/**' },
      ['src', 'src/a/b', `${workspace}/src/a`, `${workspace}/src`],
      ['src2/x', 'lib', '.', 'src/../lib', './src/a', 'src//a', 'src/', '../src', '/src/a', '/etc/passwd', '', 1]
        .concat([
          `${workspace}/src/../lib`,
          `${workspace}2/src/a`,
          `${workspace}/../src`,
          'src/*',
          'src/a\u0000',
          'src\\a',
        ])
        .concat(['src/cafe\u0301', workspace]),
    ],
    [{ path: '.' }, ['.', workspace], ['a', './', `${workspace}/`, `${workspace}/a`, '']],
    [
      { host: '*.example.com' },
      ['a.example.com', 'a.b.example.com'],
      [
        'example.com',
        'A.example.com',
        'a.example.com.',
        'x@a.example.com',
        'a.example.com:443',
        '*.example.com',
        1,
        '',
      ],
    ],
    [{ host: '[::1]' }, ['[::1]', '::1'], ['[0::1]', '0::1', '127.0.0.1']],
    [
      { cidr: '10.0.0.0/8' },
      ['10.0.0.0', '10.255.1.2'],
      ['11.0.0.0', '10.1', '::ffff:10.1.2.3', '0xa.0.0.1', 'a.com', 1],
    ],
    [{ cidr: '0.0.0.0/0' }, ['1.2.3.4', '255.255.255.255'], ['::1']],
    [{ cidr: '10.1.2.128/25' }, ['10.1.2.128', '10.1.2.255'], ['10.1.2.127', '10.1.3.128']],
    [
      { cidr: 'fd00::/8' },
      ['fd12::1', '[fd12::1]', 'fdff:1:2:3:4:5:6:7'],
      ['fe00::1', 'FD12::1', 'fd12:0::1', '1.2.3.4'],
    ],
    [{ cidr: '1.2.3.4/32' }, ['1.2.3.4'], ['1.2.3.5']],
  ])('%j accepts exactly its values', (atom, accepted, refused) => {
    const constraints = parseConstraints({ v: atom }, 'tool');
    const results = [...accepted, ...refused].map((value) => [
      value,
      accepts(constraints, { v: value }, { workspace }).ok,
    ]);
    expect(results).toEqual([...accepted.map((value) => [value, true]), ...refused.map((value) => [value, false])]);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])('never accepts %s', (value) => {
    for (const atom of [{ any: true }, { range: [-Number.MAX_VALUE, Number.MAX_VALUE] }, { hash }, { subset: [1] }]) {
      const constraints = parseConstraints({ v: atom }, 'tool');
      expect([accepts(constraints, { v: value }).ok, accepts(constraints, { v: [value] }).ok]).toEqual([false, false]);
    }
  });

  it.each([
    ['path', 'src/**', './src//a/', 'src/a'],
    ['path', 'src/**', `${workspace}/lib/../src/a`, `${workspace}/src/a`],
    ['path', '**', `${workspace}/`, workspace],
    ['path', 'src/**', 'src/cafe\u0301', 'src/caf\u00e9'],
    ['host', '*', 'Example.COM.', 'example.com'],
    ['host', '*', '::ffff:1.2.3.4', '1.2.3.4'],
    ['cidr', 'fd00::/8', 'FD00:0::1', 'fd00::1'],
  ])('of kind %s within %s answers %s with the spelling %s', (kind, pattern, value, spelled) => {
    const constraints = parseConstraints({ v: { [kind]: pattern } }, 'tool');
    expect(accepts(constraints, { v: value }, { workspace })).toEqual({
      ok: false,
      path: 'v',
      reason: 'is not spelled canonically',
      hint: `Write it as ${JSON.stringify(spelled)}.`,
    });
  });

  it('for paths accepts no absolute path when the workspace is not known', () => {
    const constraints = parseConstraints({ v: { path: '**' } }, 'tool');
    expect([accepts(constraints, { v: '/a' }).ok, accepts(constraints, { v: 'a' }).ok]).toEqual([false, true]);
  });

  it('for paths works in a workspace that is the root directory', () => {
    const constraints = parseConstraints({ v: { path: '**' } }, 'tool');
    const values = ['/', '/etc', '/etc/'].map((v) => accepts(constraints, { v }, { workspace: '/' }).ok);
    expect(values).toEqual([true, true, false]);
  });
});

describe('a child atom', () => {
  it.each<[JsonValue, JsonValue, boolean]>([
    [{ any: true }, { any: true }, true],
    [{ range: [0, 1] }, { any: true }, true],
    [{ any: true }, { range: [0, 1] }, false],
    [{ eq: 1 }, { in: [1, 2] }, true],
    [{ in: [1, 3] }, { in: [1, 2] }, false],
    [{ in: [1] }, { eq: 1 }, true],
    [{ eq: 1 }, { range: [0, 2] }, true],
    [{ eq: 3 }, { range: [0, 2] }, false],
    [{ eq: 'ab' }, { length: [0, 2] }, true],
    [{ eq: 'src/a' }, { path: 'src/**' }, true],
    [{ eq: './src/a' }, { path: 'src/**' }, false],
    [{ eq: '/srv/space/src/a' }, { path: 'src/**' }, false],
    [{ eq: 'a.example.com' }, { host: '*.example.com' }, true],
    [{ eq: '10.1.1.1' }, { cidr: '10.0.0.0/8' }, true],
    [{ eq: ['a'] }, { subset: ['a', 'b'] }, true],
    [{ eq: { a: 1, b: [true] } }, { hash }, true],
    [{ range: [0, 1] }, { range: [0, 2] }, true],
    [{ range: [0, 3] }, { range: [0, 2] }, false],
    [{ range: [-1, 1] }, { range: [0, 2] }, false],
    [{ length: [1, 2] }, { length: [0, 2] }, true],
    [{ length: [1, 3] }, { length: [0, 2] }, false],
    [{ length: [1, 1] }, { range: [0, 2] }, false],
    [{ path: 'src/a/**' }, { path: 'src/**' }, true],
    [{ path: 'src2/**' }, { path: 'src/**' }, false],
    [{ path: 'src/**' }, { prefix: 'src' }, false],
    [{ host: 'a.example.com' }, { host: '*.example.com' }, true],
    [{ host: '*.com' }, { host: '*.example.com' }, false],
    [{ host: '10.0.0.1' }, { cidr: '10.0.0.0/8' }, false],
    [{ cidr: '10.1.0.0/16' }, { cidr: '10.0.0.0/8' }, true],
    [{ cidr: '10.0.0.0/7' }, { cidr: '10.0.0.0/8' }, false],
    [{ cidr: '11.0.0.0/16' }, { cidr: '10.0.0.0/8' }, false],
    [{ cidr: '::/0' }, { cidr: '0.0.0.0/0' }, false],
    [{ prefix: 'git log' }, { prefix: 'git ' }, true],
    [{ prefix: 'git' }, { prefix: 'git ' }, false],
    [{ subset: ['a'] }, { subset: ['a', 'b'] }, true],
    [{ subset: ['c'] }, { subset: ['a', 'b'] }, false],
    [{ hash }, { hash }, true],
    [{ hash: '0'.repeat(64) }, { hash }, false],
    [{ all: [{ range: [0, 9] }, { in: [1, 2] }] }, { range: [0, 5] }, true],
    [{ all: [{ range: [0, 9] }, { range: [3, 20] }] }, { range: [3, 9] }, false],
    [{ range: [1, 2] }, { all: [{ range: [0, 5] }, { range: [1, 9] }] }, true],
    [{ range: [0, 2] }, { all: [{ range: [0, 5] }, { range: [1, 9] }] }, false],
    [{ eq: 1 }, { eq: 1, optional: true }, true],
    [{ eq: 1, optional: true }, { eq: 1, optional: true }, true],
    [{ eq: 1, optional: true }, { eq: 1 }, false],
  ])('%j within %j: %s', (child, parent, expected) => {
    const order = checkNarrower(parseConstraints({ v: child }, 'tool'), parseConstraints({ v: parent }, 'tool'));
    expect(order).toEqual(expected ? { ok: true } : { ok: false, path: 'v' });
  });
});
