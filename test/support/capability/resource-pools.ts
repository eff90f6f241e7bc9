import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import {
  parsePattern,
  parseRequest,
  type ResourceKind,
  resourceKinds,
} from '../../../src/capability/resource/resource.js';

/** Canonical texts over so few names that patterns and requests often meet. `@0` stands for the first process. */
export interface Pool {
  readonly patterns: readonly string[];
  readonly requests: readonly string[];
}

const alphabet = texts(['a', 'b', '*'], 3).flatMap((body) => [body, `${body}/**`]);
/** Deeper than what is looked up without asking whether anything begins so. */
const deep = ['a/b/a/b', 'a/*/a/b', '*/*/*/*', 'a/b/a/b/**', '*/b/*/b/a', 'a/*/*/b/**', '*/*/*/*/*'];
const short = ['**', 'a', '*', 'a/**', 'a/*', 'a/b', '*/b'];

const plain: Pool = {
  patterns: [...several(short, 10), ...alphabet, ...deep],
  requests: [...several(['a', 'a/b', 'b', 'a/a'], 5), ...texts(['a', 'b'], 4), 'c', 'a/c', 'c/b', 'a/b/c', 'a/b/a/b/a'],
};

const process: Pool = {
  patterns: ['*', '**', '@0', '@1', '@2', '@3', '@0/**', '@1/*', 'a'],
  requests: [...several(['@0', '@1', '@2', '@3'], 3), '@4', '@5', 'p_none', 'a/b'],
};

const ns: Pool = {
  patterns: [
    ...['**', '*', 'a/**', 'a/b', '*/b', '*/*', '*/*/**', '*/@0', '*/@0/**', 'process'],
    ...['@0', '@1', '@2'].flatMap((pid) =>
      ['', '/**', '/*', '/a', '/*/a', '/*/**'].map((end) => `process/${pid}${end}`),
    ),
  ],
  requests: [
    ...['process', 'a', 'a/b', 'b', 'b/@0', 'a/b/a', 'process/a', 'process/b/a'],
    ...['@0', '@1', '@2'].flatMap((pid) => ['', '/a', '/b', '/a/a', '/b/a/a'].map((end) => `process/${pid}${end}`)),
  ],
};

const hosts = ['com', 'a.com', 'b.a.com', 'c.b.a.com', 'aa.com', 'org', '[::1]', '10.0.0.1'];
const net: Pool = {
  patterns: [
    '**',
    '**',
    ...['*', '*.com', '*.a.com', '*.b.a.com', ...hosts].flatMap((host) => ports(host, ['*', '443', '80'])),
  ],
  requests: hosts.flatMap((host) => ports(host, ['443', '80', '81'])),
};

const files = [
  '.',
  'a',
  'b',
  'a/b',
  'b/a',
  'l',
  'l/b',
  'l/m',
  'l/m/a',
  'a/m',
  'a/m/b',
  'x',
  'x/a',
  'c',
  'A',
  'A/b',
  'a/b/a/b',
];
const fs: Pool = {
  patterns: [
    ...['**', '**', 'a/**', 'b/**', 'l/**', '*', '*/**', '*/*', '.'],
    ...files,
    ...['*/b', 'a/*', 'a/m/**', 'A/**', 'l/*', 'l/m/**', 'x/**', '*/m/**', 'a/b/a/*'],
  ],
  requests: files,
};

const special: Partial<Record<ResourceKind, Pool>> = { process, ns, net, fs };

const all = new Map(
  resourceKinds.map((kind): [ResourceKind, Pool] => {
    const { patterns, requests } = special[kind] ?? plain;
    return [
      kind,
      {
        patterns: patterns.map((body) => parsePattern(`${kind}:${body}`).text),
        requests: requests.map((body) => parseRequest(`${kind}:${body}`).text),
      },
    ];
  }),
);

export function poolOf(kind: ResourceKind): Pool {
  return all.get(kind) ?? plain;
}

const links: Readonly<Record<string, string>> = { l: 'a', 'a/m': 'b', x: 'outside' };

/** Makes the folders and links that the names of files above lead through. `outside` is not in the workspace. */
export function makeFiles(workspace: string, outside: string): void {
  for (const folder of ['a', 'b']) mkdirSync(join(workspace, folder));
  symlinkSync(join(workspace, 'a'), join(workspace, 'l'));
  symlinkSync(join(workspace, 'b'), join(workspace, 'a', 'm'));
  symlinkSync(outside, join(workspace, 'x'));
}

/** Where a file of those names lies, link by link; undefined outside the workspace. */
export function realPlace(segments: readonly string[], foldsCase: boolean): readonly string[] | undefined {
  let place: string[] = [];
  for (const segment of segments) {
    const spelled = [...place, segment];
    const target = links[foldsCase ? spelled.join('/').toLowerCase() : spelled.join('/')];
    if (target === 'outside') return undefined;
    place = target === undefined ? spelled : target.split('/');
  }
  return place;
}

/** Repeats items, so that they are picked often. */
function several<T>(items: readonly T[], times: number): T[] {
  return Array.from({ length: times }, () => items).flat();
}

function ports(host: string, all: readonly string[]): string[] {
  return all.map((port) => `${host}/${port}`);
}

/** All bodies of one to `lengthMax` names, the short ones first. */
function texts(names: readonly string[], lengthMax: number): string[] {
  const longer =
    lengthMax === 1 ? [] : texts(names, lengthMax - 1).flatMap((body) => names.map((name) => `${body}/${name}`));
  return [...new Set([...names, ...longer])].sort((a, b) => a.length - b.length);
}
