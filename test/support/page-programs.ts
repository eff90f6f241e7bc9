import { execFile, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { onTestFinished } from 'vitest';
import { builtInputs, builtOnce, repository } from './built-package.js';
import { installPacked } from './packed-package.js';

/** The files in which users find TypeScript: the README, the pages of `docs` without its subfolders, the examples. */
export const pages: readonly string[] = ['README.md', ...filesIn('docs', '.md')].filter(
  (page) => programOf(readText(page)).trim() !== '',
);
export const examples: readonly string[] = filesIn('examples', '.ts');

export function readText(file: string): string {
  return readFileSync(path.join(repository, file), 'utf8');
}

/** The TypeScript blocks of a page as one program, each line where it is on the page, so that compiler errors name it. */
export function programOf(page: string): string {
  let isCode = false;
  const lines = page.split('\n').map((line) => {
    if (!line.startsWith('```')) return isCode ? line : '';
    isCode = line === '```ts';
    return '';
  });
  return lines.join('\n');
}

/** The lines that a program prints, by the comments behind its calls of `console.log`. `…` in them stands for any text. */
export function expectedLines(program: string): string[] {
  return [...program.matchAll(/console\.log\(.*\/\/ (.+)$/gm)].map(([, text = '']) => text.trim());
}

/** Runs the compiled program of a page or an example in an empty folder, and answers with what it printed. */
export async function runProgram(file: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  const program = path.join(await compiledPrograms(), 'out', `${programName(file)}.mjs`);
  const cwd = mkdtempSync(path.join(tmpdir(), 'procura-page-'));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  return new Promise((resolve, reject) => {
    execFile(
      process.execPath,
      [program],
      { cwd, timeout: 110_000, env: { ...process.env, PROCURA_STORE: '', ...env } },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(`${file} failed:\n${stdout}\n${stderr}`));
      },
    );
  });
}

/**
 * The folder of a project with the packed package, in which all pages and examples are compiled at once. It lies where the
 * repository's other dependencies are found. Throws with the errors of the compiler.
 */
export function compiledPrograms(): Promise<string> {
  return builtOnce('pages', [...builtInputs, 'docs'], async (draft) => {
    await installPacked(draft);
    const sources = [
      ...pages.map((page) => ({ name: programName(page), text: programOf(readText(page)) })),
      ...examples.map((example) => ({ name: programName(example), text: readText(example) })),
    ];
    const output = compile(draft, sources);
    if (output !== '') throw new Error(`The pages do not compile:\n${output}`);
  });
}

/** What the compiler says about programs of a project; empty if it accepts them. The compiled ones are in `out`. */
export function compile(project: string, sources: readonly { name: string; text: string }[]): string {
  mkdirSync(path.join(project, 'pages'), { recursive: true });
  for (const { name, text } of sources) writeFileSync(path.join(project, 'pages', `${name}.mts`), text);
  const files = sources.map(({ name }) => `pages/${name}.mts`);
  writeFileSync(path.join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  const compiler = path.join(repository, 'node_modules', 'typescript', 'bin', 'tsc');
  const arguments_ = [compiler, '-p', project, '--pretty', 'false'];
  return spawnSync(process.execPath, arguments_, { cwd: project, encoding: 'utf8' }).stdout;
}

const compilerOptions = {
  strict: true,
  module: 'NodeNext',
  target: 'ES2022',
  lib: ['ES2023', 'ESNext.Disposable'],
  types: ['node'],
  skipLibCheck: true,
  rootDir: 'pages',
  outDir: 'out',
};

function programName(file: string): string {
  return file.replace(/\.(md|ts)$/, '').replaceAll('/', '-');
}

function filesIn(folder: string, ending: string): string[] {
  return readdirSync(path.join(repository, folder))
    .filter((name) => name.endsWith(ending))
    .map((name) => `${folder}/${name}`)
    .sort();
}
