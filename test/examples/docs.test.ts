import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { builtPackage, repository } from '../support/built-package.js';
import { codeBlocks, runText } from '../support/run-program.js';

const read = (name: string) => readFileSync(path.join(repository, name), 'utf8');
const sources = () =>
  readdirSync(path.join(repository, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => read(path.join('src', name)));
const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...markdownUnder('docs')];

beforeAll(() => builtPackage(), 150_000);

describe('the code on the pages', () => {
  it('of the README runs as it stands and prints what it says', async () => {
    const [example = '', ...others] = codeBlocks(read('README.md'));
    expect(others).toEqual([]);
    expect(example.trimEnd().split('\n')).toHaveLength(15);
    expect(await runText(example)).toBe('ALLOWED\nNO_CAPABILITY\n{ found: 3 }\n');
  });

  it('of the guide runs as one program and prints what its comments say', async () => {
    const program = codeBlocks(read('docs/guide.md')).join('\n');
    const said = [...program.matchAll(/console\.log\(.*\/\/ (.+)$/gm)].map(([, text = '']) => text.trim());
    const told = (await runText(program)).trimEnd().split('\n');
    expect(told.map((line) => line.replace(/^\d+ (process\.spawned)$/, 'the first one: $1'))).toEqual(said);
  });
});

describe('the page of errors', () => {
  it('explains every code that the sources can throw, and no other', () => {
    const page = read('docs/errors.md').split('## Codes of decisions')[0] ?? '';
    const explained = [...page.matchAll(/^\| ([A-Z_]+) \|/gm)].map(([, code = '']) => code);
    expect(new Set(explained)).toEqual(codesInSources());
    expect(explained).toHaveLength(new Set(explained).size);
  });

  it('explains every code that a decision can have', () => {
    const [, page = ''] = read('docs/errors.md').split('## Codes of decisions');
    const [, union = ''] = /type DecisionCode =([^;]+);/.exec(sources().join('\n')) ?? [];
    const codes = [...union.matchAll(/'([A-Z_]+)'/g)].map(([, code = '']) => code);
    expect(codes.length).toBeGreaterThan(5);
    for (const code of codes) expect(page).toContain(code);
  });
});

describe('the pages', () => {
  it('print the tables that the code has', () => {
    const script = path.join(repository, 'scripts', 'print-tables.ts');
    execFileSync(process.execPath, ['--import', 'tsx', script, '--check'], { cwd: repository, stdio: 'pipe' });
  });

  it.each(['docs/security.md', 'docs/origins.md'])('name a test that is there for each row: %s', (page) => {
    const files = [...read(page).matchAll(/test\/[\w/.-]+\.test\.ts/g)].map(([file]) => file);
    expect(files.length).toBeGreaterThan(30);
    expect(files.filter((file) => !existsSync(path.join(repository, file)))).toEqual([]);
  });

  it('link to files that are there', () => {
    const broken = pages.flatMap((page) =>
      [...read(page).matchAll(/\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g)]
        .map(([, target = '']) => path.join(path.dirname(page), target))
        .filter((target) => !existsSync(path.join(repository, target))),
    );
    expect(broken).toEqual([]);
  });

  it('name source files that exist', () => {
    const missing = pages.flatMap((page) =>
      [...read(page).matchAll(/`((?:src\/)?[a-z-]+(?:\/[a-z-]+)+\.ts)`/g)]
        .map(([, file = '']) => (/^(src|test|scripts)\//.test(file) ? file : path.join('src', file)))
        .filter((file) => !existsSync(path.join(repository, file))),
    );
    expect(missing).toEqual([]);
  });
});

/** Error codes in the sources: first arguments of error constructors and helpers, and the codes that SQLite errors map to. */
function codesInSources(): Set<string> {
  const found = new Set<string>();
  const forms = [
    /new \w*Error\(\s*'([A-Z_]+)'/g,
    /super\(\s*'([A-Z_]+)'/g,
    /noHolder\(\s*'([A-Z_]+)'/g,
    /'SQLITE_[A-Z]+',\s*'([A-Z_]+)'/g,
    /'(STORE_FAILED)'/g,
  ];
  for (const source of sources()) {
    for (const form of forms) for (const [, code = ''] of source.matchAll(form)) found.add(code);
  }
  return found;
}

function markdownUnder(folder: string): string[] {
  return readdirSync(path.join(repository, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => path.join(folder, name));
}
