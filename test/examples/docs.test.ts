import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { errorCodes } from '../../src/base/error/error-codes.js';
import { repository } from '../support/built-package.js';
import { compile, compiledPrograms, expectedLines, pages, programOf, runProgram } from '../support/page-programs.js';

const read = (name: string) => readFileSync(path.join(repository, name), 'utf8');
const sources = () =>
  readdirSync(path.join(repository, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => read(path.join('src', name)));
const markdown = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...markdownUnder('docs')];

beforeAll(() => compiledPrograms(), 300_000);

describe('the code on the pages', () => {
  it('is found in the README, the guide and the pages for production', () => {
    const wanted = ['README.md', 'docs/deadlines-and-signals.md', 'docs/deploying.md', 'docs/guide.md'];
    expect(pages).toEqual(expect.arrayContaining([...wanted, 'docs/operating.md']));
  });

  it.each(pages)(
    'compiles against the packed package, runs as one program and prints what it says: %s',
    async (page) => {
      const lines = (await runProgram(page)).trimEnd().split('\n');
      const expected = expectedLines(programOf(read(page)));
      expect(expected.length).toBeGreaterThan(0);
      expect(lines.map((line, index) => withGaps(line, expected[index]))).toEqual(expected);
    },
  );

  it('is refused by the compiler where it misspells a name or gives arguments of a wrong type', async () => {
    const project = await compiledPrograms();
    const draft = mkdtempSync(path.join(path.dirname(project), 'wrong-'));
    onTestFinished(() => rmSync(draft, { recursive: true, force: true }));
    cpSync(path.join(project, 'node_modules'), path.join(draft, 'node_modules'), { recursive: true });
    const example = programOf(read('README.md'));
    const wrong = [
      { name: 'argument', text: example.replace("args: { topic: 'tides' }", 'args: { topic: 5 }') },
      { name: 'name', text: example.replace('processes.spawnChild', 'processes.spawnChildren') },
    ];
    const output = compile(draft, wrong);
    expect(output).toMatch(/pages\/argument\.mts\(\d+,\d+\): error TS2322/);
    expect(output).toMatch(/pages\/name\.mts\(\d+,\d+\): error TS2551/);
  });

  it('is TypeScript on every page, in blocks marked ts', () => {
    const others = markdown.flatMap((page) =>
      [...read(page).matchAll(/^```(js|javascript|mjs|typescript)$/gm)].map(([, mark]) => `${page}: ${mark}`),
    );
    expect(others).toEqual([]);
  });
});

describe('the program of a page', () => {
  it('has the TypeScript of the page on the lines where it is, and nothing else', () => {
    const page = '# Page\n```sh\nnpm start\n```\n```ts\nconst a = 1;\n```\nText.\n```ts\nuse(a);\n```';
    expect(programOf(page)).toBe('\n\n\n\n\nconst a = 1;\n\n\n\nuse(a);\n');
  });

  it('prints what the comments behind console.log say', () => {
    const program = ['console.log(a); // 1', 'run(b); // not printed', "  console.log('x');   // … ms"].join('\n');
    expect(expectedLines(program)).toEqual(['1', '… ms']);
    expect(withGaps('12 ms', '… ms')).toBe('… ms');
    expect(withGaps('12 s', '… ms')).toBe('12 s');
    expect(withGaps('12 s', undefined)).toBe('12 s');
  });
});

describe('the page of errors', () => {
  it('explains every code of the kernel and of the command once, and no other', () => {
    const page = read('docs/errors.md').split('## Codes of decisions')[0] ?? '';
    const explained = [...page.matchAll(/^\| ([A-Z_]+) \|/gm)].map(([, code = '']) => code);
    const known = new Set([...Object.keys(errorCodes), ...codesOfCommand()]);
    expect(explained.sort()).toEqual([...known].sort());
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
    const broken = markdown.flatMap((page) =>
      [...read(page).matchAll(/\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)/g)]
        .map(([, target = '']) => path.join(path.dirname(page), target))
        .filter((target) => !existsSync(path.join(repository, target))),
    );
    expect(broken).toEqual([]);
  });

  it('link to files of the repository that are there', () => {
    const links = /\]\(https:\/\/github\.com\/procura-dev\/procura\/(?:blob|tree)\/main\/([^)#]+)/g;
    const targets = [...read('README.md').matchAll(links)].map(([, target = '']) => target);
    expect(targets.length).toBeGreaterThan(5);
    expect(targets.filter((target) => !existsSync(path.join(repository, target)))).toEqual([]);
    // Relative links do not work on the page of the package on npm.
    expect(read('README.md')).not.toMatch(/\]\((?!https:|#)/);
  });

  it('name source files that exist', () => {
    const missing = markdown.flatMap((page) =>
      [...read(page).matchAll(/`((?:src\/)?[a-z-]+(?:\/[a-z-]+)+\.ts)`/g)]
        .map(([, file = '']) => (/^(src|test|scripts)\//.test(file) ? file : path.join('src', file)))
        .filter((file) => !existsSync(path.join(repository, file))),
    );
    expect(missing).toEqual([]);
  });
});

/** The codes of the errors that only the command has. */
function codesOfCommand(): string[] {
  return sources().flatMap((source) =>
    [...source.matchAll(/new CliError\(\s*'([A-Z_]+)'/g)].map(([, code = '']) => code),
  );
}

/** The line itself, or `expected` if it is the same but for the gaps that `…` stands for. */
function withGaps(line: string, expected: string | undefined): string {
  if (expected === undefined) return line;
  const parts = expected.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`).test(line) ? expected : line;
}

function markdownUnder(folder: string): string[] {
  return readdirSync(path.join(repository, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => path.join(folder, name));
}
