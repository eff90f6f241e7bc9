import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

export const repository = fileURLToPath(new URL('../..', import.meta.url));

const shelf = path.join(repository, 'node_modules', '.cache', 'procura-build');
const inputs = ['src', 'migrations', 'examples', 'package.json', 'tsconfig.json', 'tsconfig.build.json', 'README.md'];
const waitMs = 120_000;
const keptMs = 3_600_000;

/**
 * The folder of a package that was built from the present sources by the compiler that builds the release. Built once
 * and shared by all test files that run programs; it lies where the repository's dependencies are found.
 */
export async function builtPackage(): Promise<string> {
  const folder = path.join(shelf, sourceHash());
  const draft = `${folder}.draft`;
  mkdirSync(shelf, { recursive: true });
  for (let waited = 0; !existsSync(folder); waited += 200) {
    if (takesOn(draft, waited)) build(draft, folder);
    else await sleep(200);
  }
  return folder;
}

/** One test file builds, the others wait for it; a draft that was left behind by a killed run is taken over. */
function takesOn(draft: string, waited: number): boolean {
  if (waited > waitMs) rmSync(draft, { recursive: true, force: true });
  try {
    mkdirSync(draft);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

function build(draft: string, folder: string): void {
  try {
    const compiler = path.join(repository, 'node_modules', 'typescript', 'bin', 'tsc');
    const config = path.join(repository, 'tsconfig.build.json');
    execFileSync(process.execPath, [compiler, '-p', config, '--outDir', path.join(draft, 'dist')], { stdio: 'pipe' });
    for (const name of ['migrations', 'examples', 'package.json', 'README.md', 'CHANGELOG.md', 'LICENSE']) {
      const from = path.join(repository, name);
      if (existsSync(from)) cpSync(from, path.join(draft, name), { recursive: true });
    }
    renameSync(draft, folder);
    forgetOldBuilds(folder);
  } catch (error) {
    rmSync(draft, { recursive: true, force: true });
    const told = error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error);
    throw new Error(`The package could not be built:\n${told}`, { cause: error });
  }
}

function forgetOldBuilds(current: string): void {
  for (const name of readdirSync(shelf)) {
    const other = path.join(shelf, name);
    const old = Date.now() - statSync(other).mtimeMs > keptMs;
    if (old && other !== current) rmSync(other, { recursive: true, force: true });
  }
}

function sourceHash(): string {
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
