import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const repository = fileURLToPath(new URL('../..', import.meta.url));

const shelf = path.join(repository, 'node_modules', '.cache', 'procura-build');
const keptMs = 3_600_000;

const sources = [
  'src',
  'scripts/build.mjs',
  'scripts/prune-declarations.mjs',
  'tsconfig.json',
  'tsconfig.build.json',
  'package.json',
  'package-lock.json',
];
const pages = ['docs', 'examples', 'package.json', 'README.md', 'CHANGELOG.md', 'LICENSE', 'llms.txt'];

/** Everything that the built package is made of. */
export const builtInputs: readonly string[] = [...sources, ...pages];

/**
 * The folder of a package that was built from the present sources as the release is. Built once
 * and shared by all test files that run programs; it lies where the repository's dependencies are found.
 */
export function builtPackage(): Promise<string> {
  return builtOnce('package', builtInputs, async (draft) => {
    const dist = path.join(draft, 'dist');
    if (isBuilt()) cpSync(path.join(repository, 'dist'), dist, { recursive: true });
    else execFileSync(process.execPath, [path.join(repository, 'scripts', 'build.mjs'), dist], { stdio: 'pipe' });
    for (const name of pages) {
      const from = path.join(repository, name);
      if (existsSync(from)) cpSync(from, path.join(draft, name), { recursive: true });
    }
  });
}

/**
 * The folder that `build` has filled from the present content of `inputs`, which are paths in the repository. One test
 * file builds, the others wait for it.
 */
export async function builtOnce(
  name: string,
  inputs: readonly string[],
  build: (draft: string) => Promise<void>,
): Promise<string> {
  const folder = path.join(shelf, `${name}-${hashOf(inputs)}`);
  const lock = `${folder}.lock`;
  mkdirSync(shelf, { recursive: true });
  for (; !existsSync(folder); await sleep(100)) {
    if (!takes(lock)) continue;
    try {
      if (!existsSync(folder)) await fill(folder, build);
    } finally {
      rmSync(lock, { force: true });
    }
  }
  return folder;
}

async function fill(folder: string, build: (draft: string) => Promise<void>): Promise<void> {
  const draft = `${folder}.draft`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft);
  try {
    await build(draft);
  } catch (error) {
    const told = error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error);
    throw new Error(`${path.basename(folder)} could not be built:\n${told}`, { cause: error });
  }
  renameSync(draft, folder);
  forgetOldBuilds(folder);
}

/** Whether this program has the lock now. One that was left behind by a program that is gone is taken away. */
function takes(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    if (isLeftBehind(lock)) rmSync(lock, { force: true });
    return false;
  }
}

function isLeftBehind(lock: string): boolean {
  try {
    const owner = Number(readFileSync(lock, 'utf8'));
    if (owner > 0) process.kill(owner, 0);
    return false;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ESRCH';
  }
}

/** Whether `npm run build` has built what is there now: this file is written last. */
function isBuilt(): boolean {
  const last = path.join(repository, 'dist', 'THIRD-PARTY-LICENSES.txt');
  const changedAt = Math.max(...sources.flatMap((name) => filesUnder(path.join(repository, name))).map(timeOf));
  return existsSync(last) && timeOf(last) > changedAt;
}

function timeOf(file: string): number {
  return statSync(file).mtimeMs;
}

function forgetOldBuilds(current: string): void {
  for (const name of readdirSync(shelf)) {
    const other = path.join(shelf, name);
    const time = statSync(other, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
    if (Date.now() - time > keptMs && other !== current) rmSync(other, { recursive: true, force: true });
  }
}

function hashOf(inputs: readonly string[]): string {
  const hash = createHash('sha256');
  for (const input of inputs)
    for (const file of filesUnder(path.join(repository, input))) hash.update(file).update(readFileSync(file));
  return hash.digest('hex').slice(0, 16);
}

function filesUnder(start: string): string[] {
  if (!existsSync(start)) return [];
  if (statSync(start).isFile()) return [start];
  return readdirSync(start, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort();
}
