import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { createKernel } from '../../src/index.js';
import { builtPackage } from '../support/built-package.js';
import { tempFolder } from '../support/kernel.js';

let dist = '';
beforeAll(async () => {
  dist = path.join(await builtPackage(), 'dist');
}, 180_000);

describe('the built files', () => {
  it('have a verifier that is one file, imports modules of Node only, and works wherever it is copied to', async () => {
    const source = readFileSync(path.join(dist, 'verify.js'), 'utf8');
    const imported = [...source.matchAll(/^import .* from "(.+)";$/gm)].map(([, name]) => name ?? '');
    expect(imported.length).toBeGreaterThan(0);
    expect(imported.filter((name) => !name.startsWith('node:'))).toEqual([]);
    expect(source).not.toMatch(/\bimport\(|\brequire\(/);

    const folder = tempFolder();
    const copy = path.join(folder, 'verify.mjs');
    cpSync(path.join(dist, 'verify.js'), copy);
    const file = path.join(folder, 'export.jsonl');
    const text = await exportedLog();
    writeFileSync(file, text);
    expect(execFileSync(process.execPath, [copy, file], { encoding: 'utf8' })).toMatch(/^OK: /);
    writeFileSync(file, text.replace('process.spawn', 'process.fork'));
    expect(() => execFileSync(process.execPath, [copy, file], { stdio: 'pipe' })).toThrow(/BROKEN/);
  });

  it('share one KernelError between all entries of the package, each error with the name of its class', () => {
    const lines = run(`
      import * as procura from ${entry('index.js')};
      import { agentImage } from ${entry('integrations/ai-sdk/index.js')};
      const { KernelError } = procura;
      const classes = Object.entries(procura).filter(([, value]) => value?.prototype instanceof KernelError);
      for (const [name, Class] of classes) if (new Class('INTERNAL', '').name !== name) console.log('renamed', name);
      console.log(classes.length > 5);
      try { agentImage({}) } catch (error) { console.log(error instanceof KernelError, error.name, error.code) }
      const kernel = await procura.createKernel();
      try { await kernel.processes.spawn({ image: 5 }) } catch (error) { console.log(error instanceof KernelError, error.name) }
      await kernel.shutdown();
    `);
    expect(lines).toEqual(['true', 'true InputError INVALID_INPUT', 'true InputError']);
  });

  it('take the modules of a caller, with classes that the inversify of the caller has decorated', () => {
    const lines = run(`
      import { ContainerModule, inject, injectable } from 'inversify';
      import { Clock, createKernel, Entropy, IdSource } from ${entry('index.js')};
      class CountedIds {
        count = 0;
        constructor(clock) { this.clock = clock; }
        next(kind) { return (kind === 'process' ? 'p' : kind) + '_' + String(++this.count).padStart(4, '0') + this.clock.constructor.name; }
      }
      injectable()(CountedIds);
      inject(Clock)(CountedIds, undefined, 0);
      const kernel = await createKernel({ modules: [new ContainerModule(({ bind }) => void bind(IdSource).to(CountedIds).inSingletonScope())] });
      const ids = kernel.container.get(IdSource);
      console.log(ids instanceof CountedIds, typeof ids.clock.now(), ids === kernel.container.get(IdSource));
      await kernel.shutdown();
    `);
    expect(lines).toEqual(['true number true']);
  });

  it('load neither the store nor the schema compiler before a kernel is opened', () => {
    const lines = run(`
      import { createRequire } from 'node:module';
      const isLoaded = (name) => Object.keys(createRequire(import.meta.url).cache).some((file) => file.includes('/' + name + '/'));
      const { createKernel } = await import(${entry('index.js')});
      console.log(isLoaded('better-sqlite3'), isLoaded('ajv'));
      await (await createKernel()).shutdown();
      console.log(isLoaded('better-sqlite3'), isLoaded('ajv'));
    `);
    expect(lines).toEqual(['false false', 'true false']);
  });

  it('contain the licenses of the packages that are bundled', () => {
    const text = readFileSync(path.join(dist, 'THIRD-PARTY-LICENSES.txt'), 'utf8');
    for (const name of ['ajv', 'commander', 'drizzle-orm', 'inversify']) {
      expect(text).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(`, 'm'));
    }
    expect(readdirSync(path.join(dist, 'chunks')).length).toBeGreaterThan(0);
  });
});

function entry(name: string): string {
  return JSON.stringify(pathToFileURL(path.join(dist, name)).href);
}

/** The lines that a program prints which lies in the folder of the package, where its dependencies are found. */
function run(source: string): string[] {
  const input = { cwd: path.dirname(dist), encoding: 'utf8', input: source } as const;
  return execFileSync(process.execPath, ['--input-type=module', '-'], input).trim().split('\n');
}

async function exportedLog(): Promise<string> {
  await using kernel = await createKernel();
  await kernel.processes.spawn();
  const lines: string[] = [];
  for await (const line of kernel.audit.export()) lines.push(String(line));
  return lines.join('');
}
