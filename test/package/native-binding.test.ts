import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { builtPackage, repository } from '../support/built-package.js';
import { tempFolder } from '../support/kernel.js';

const opening = `
import { createKernel, KernelError } from 'procura';
console.log('imported');
try {
  await createKernel({ store: 'new.db' });
} catch (error) {
  console.log(error instanceof KernelError, error.name, error.code, error.message);
  console.log(JSON.stringify(error.facts));
  console.log(error.hint);
}
`;

describe('better-sqlite3 without its native part', () => {
  it('is STORE_UNSUPPORTED with the command of the package manager that runs the program, and creates nothing', async () => {
    const project = await projectWithoutBinary();
    const commands = {
      'npm/10.8.2 node/v20.19.0 linux x64 workspaces/false': 'npm rebuild better-sqlite3',
      'pnpm/10.4.1 npm/? node/v22.1.0 linux x64': 'pnpm approve-builds && pnpm rebuild better-sqlite3',
      'yarn/4.5.0 npm/? node/v22.1.0 linux x64': 'yarn rebuild better-sqlite3',
      'yarn/1.22.22 npm/? node/v22.1.0 linux x64': 'yarn install --force',
      'bun/1.2.0 npm/? node/v22.1.0 linux x64': 'bun pm trust better-sqlite3',
    };
    for (const [agent, command] of Object.entries(commands)) {
      const [imported, error, facts = '', hint] = open(project, agent);
      expect(imported).toBe('imported');
      expect(error).toMatch(/^true StoreError STORE_UNSUPPORTED The native part of better-sqlite3 was not built; /);
      expect(JSON.parse(facts)).toMatchObject({ package: 'better-sqlite3', problem: 'was not built', command });
      expect(hint).toBe(`Run: ${command}`);
    }
    expect(readdirSync(project).filter((name) => name.startsWith('new.db'))).toEqual([]);
  });

  it('finds the package manager by the project that the program runs in', async () => {
    const project = await projectWithoutBinary();
    const files: [name: string, text: string, command: string][] = [
      ['package-lock.json', '{}', 'npm rebuild better-sqlite3'],
      ['pnpm-lock.yaml', '', 'pnpm approve-builds && pnpm rebuild better-sqlite3'],
      ['yarn.lock', '__metadata:\n  version: 8\n', 'yarn rebuild better-sqlite3'],
      ['yarn.lock', '# yarn lockfile v1\n', 'yarn install --force'],
      ['bun.lock', '{}', 'bun pm trust better-sqlite3'],
      ['package.json', '{ "packageManager": "pnpm@10.4.1" }', 'pnpm approve-builds && pnpm rebuild better-sqlite3'],
      ['package.json', '{ "private": true }', 'npm rebuild better-sqlite3'],
    ];
    for (const [name, text, command] of files) {
      writeFileSync(path.join(project, name), text);
      expect(open(project, '').at(-1)).toBe(`Run: ${command}`);
      rmSync(path.join(project, name));
    }
  });

  it('is STORE_UNSUPPORTED also with a binary that this Node cannot load, or without the package', async () => {
    const project = await projectWithoutBinary();
    const release = path.join(project, 'node_modules/better-sqlite3/build/Release');
    mkdirSync(release, { recursive: true });
    writeFileSync(path.join(release, 'better_sqlite3.node'), 'not a library');
    const [, broken, , hint] = open(project, 'pnpm/10.4.1');
    expect(broken).toMatch(/^true StoreError STORE_UNSUPPORTED .+ cannot be loaded; /);
    expect(hint).toBe('Run: pnpm rebuild better-sqlite3');

    rmSync(path.join(project, 'node_modules/better-sqlite3'), { recursive: true });
    const [imported, missing, , install] = open(project, 'pnpm/10.4.1');
    expect(imported).toBe('imported');
    expect(missing).toBe('true StoreError STORE_UNSUPPORTED The package better-sqlite3 is not installed.');
    expect(install).toBe('Run: pnpm add better-sqlite3@12');
  });

  it('is told the same way by the command, which does not speak of a defect', async () => {
    const project = await projectWithoutBinary();
    writeFileSync(path.join(project, 'some.db'), 'x');
    const main = path.join(project, 'node_modules/procura/dist/cli/main.js');
    const env = { ...process.env, npm_config_user_agent: 'npm/10.8.2 node/v20.19.0' };
    const { status, stdout, stderr } = spawnSync(process.execPath, [main, 'ps', '--store', 'some.db'], {
      cwd: project,
      env,
      encoding: 'utf8',
    });
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/^error STORE_UNSUPPORTED: The native part .+\nhint: Run: npm rebuild better-sqlite3\n$/);
    expect(stderr).not.toMatch(/defect|INTERNAL/);
    expect(readFileSync(path.join(project, 'some.db'), 'utf8')).toBe('x');
  });
});

/** What `open` prints in the project, line by line, as if the given package manager ran it. */
function open(project: string, agent: string): string[] {
  const file = path.join(project, 'open.mjs');
  writeFileSync(file, opening);
  const env = { ...process.env, npm_config_user_agent: agent };
  const { stdout, stderr } = spawnSync(process.execPath, [file], { cwd: project, env, encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.trim().split('\n');
}

/** A project with the package installed, as package managers leave it that do not run the scripts of dependencies. */
async function projectWithoutBinary(): Promise<string> {
  const project = tempFolder();
  const modules = path.join(project, 'node_modules');
  const built = await builtPackage();
  for (const name of ['dist', 'package.json']) {
    cpSync(path.join(built, name), path.join(modules, 'procura', name), { recursive: true });
  }
  const { dependencies } = JSON.parse(readFileSync(path.join(built, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  for (const name of [...Object.keys(dependencies), 'bindings', 'file-uri-to-path']) {
    const from = path.join(repository, 'node_modules', name);
    if (name !== 'better-sqlite3') symlinkSync(from, path.join(modules, name));
    else
      for (const part of ['lib', 'package.json'])
        cpSync(path.join(from, part), path.join(modules, name, part), { recursive: true });
  }
  return project;
}
