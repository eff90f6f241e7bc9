import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { repository } from '../support/built-package.js';
import { tempFolder } from '../support/kernel.js';

const manifest = JSON.parse(readFileSync(path.join(repository, 'package.json'), 'utf8')) as {
  dependencies: Record<string, string>;
};

describe('prepare', () => {
  it('builds a checkout that was never built, so that its tarball is complete', () => {
    const folder = checkout();
    symlinkSync(path.join(repository, 'node_modules'), path.join(folder, 'node_modules'));
    expect(existsSync(path.join(folder, 'dist'))).toBe(false);
    npm(folder, 'run', 'prepare');
    const [tarball] = JSON.parse(npm(folder, 'pack', '--json', '--dry-run', '--ignore-scripts')) as {
      files: { path: string }[];
    }[];
    const packed = tarball?.files.map((file) => file.path) ?? [];
    const expected = ['dist/index.js', 'dist/index.d.ts', 'dist/cli/main.js', 'dist/verify.js', 'docs/guide.md'];
    for (const name of [...expected, 'README.md', 'CHANGELOG.md', 'LICENSE', 'llms.txt'])
      expect(packed).toContain(name);
    expect(packed.some((name) => name.startsWith('examples/'))).toBe(true);
    expect(
      execFileSync(process.execPath, [path.join(folder, 'dist/cli/main.js'), '--help'], { encoding: 'utf8' }),
    ).toMatch(/^Usage: procura/);
  }, 300_000);

  it('does nothing where the tools for the build are not installed', () => {
    const folder = checkout();
    mkdirSync(path.join(folder, 'node_modules'));
    for (const name of Object.keys(manifest.dependencies)) {
      symlinkSync(path.join(repository, 'node_modules', name), path.join(folder, 'node_modules', name));
    }
    npm(folder, 'run', 'prepare');
    expect(existsSync(path.join(folder, 'dist'))).toBe(false);
  });

  it('does nothing where the sources, or all but package.json, are missing', () => {
    const folder = checkout();
    symlinkSync(path.join(repository, 'node_modules'), path.join(folder, 'node_modules'));
    rmSync(path.join(folder, 'src'), { recursive: true });
    npm(folder, 'run', 'prepare');
    rmSync(path.join(folder, 'scripts'), { recursive: true });
    npm(folder, 'run', 'prepare');
    expect(existsSync(path.join(folder, 'dist'))).toBe(false);
  });
});

/** A copy of the repository as it was checked out, without what is made in it and what the package does not need. */
function checkout(): string {
  const folder = tempFolder();
  for (const name of readdirSync(repository)) {
    if (['.git', 'node_modules', 'dist', 'coverage', 'test', 'bench'].includes(name)) continue;
    cpSync(path.join(repository, name), path.join(folder, name), { recursive: true });
  }
  return folder;
}

function npm(cwd: string, ...args: string[]): string {
  return execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: 'pipe' });
}
