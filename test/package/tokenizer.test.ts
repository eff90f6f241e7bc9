import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { builtPackage, repository } from '../support/built-package.js';

let project = '';
let store = '';

/** A project with the package and its dependencies; gpt-tokenizer is put in and taken out by the tests. */
beforeAll(async () => {
  project = mkdtempSync(path.join(tmpdir(), 'procura-tokenizer-'));
  const from = await builtPackage();
  const installed = path.join(project, 'node_modules', 'procura');
  mkdirSync(installed, { recursive: true });
  mkdirSync(path.join(project, 'workspace'));
  const { dependencies, files } = JSON.parse(readFileSync(path.join(from, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
    files: string[];
  };
  for (const name of ['package.json', ...files.filter((one) => ['dist', 'migrations'].includes(one))]) {
    cpSync(path.join(from, name), path.join(installed, name), { recursive: true });
  }
  for (const name of Object.keys(dependencies)) {
    symlinkSync(path.join(repository, 'node_modules', name), path.join(project, 'node_modules', name));
  }
  writeFileSync(path.join(project, 'package.json'), '{ "name": "user", "private": true, "type": "module" }');
}, 180_000);
afterAll(() => rmSync(project, { recursive: true, force: true }));

let stores = 0;
beforeEach(() => {
  store = path.join(project, `store-${stores++}.db`);
});
afterEach(removeTokenizer);

const tokenizer = () => path.join(project, 'node_modules', 'gpt-tokenizer');

function installTokenizer(): void {
  symlinkSync(path.join(repository, 'node_modules', 'gpt-tokenizer'), tokenizer());
}

function removeTokenizer(): void {
  rmSync(tokenizer(), { force: true });
}

interface Report {
  /** The tokens of the objects that the program has found and created, by their names. */
  readonly tokens: Record<string, number>;
  readonly context: { readonly tokens: number; readonly countedBy: string; readonly text: string };
  readonly warnings: string[];
  /** Whether the table of the tokenizer was in memory: after the kernel was opened, after a spawn, and at the end. */
  readonly loaded: [boolean, boolean, boolean];
}

const text = 'THE BUILD FAILED: AN UNRECOVERABLE CONFIGURATION ERROR OCCURRED.';

/** Opens the store, adds an object to the process `main`, and renders the view of that process. */
function run(name: string): Report {
  const file = path.join(project, 'program.js');
  writeFileSync(file, program);
  const output = execFileSync(process.execPath, [file, store, name, text], { cwd: project, encoding: 'utf8' });
  return JSON.parse(output) as Report;
}

const program = `
import { createRequire } from 'node:module';
import { createKernel } from 'procura';
const [, , store, name, text] = process.argv;
const isLoaded = () => Object.keys(createRequire(import.meta.url).cache).some((file) => file.includes('gpt-tokenizer'));
const warnings = [];
const logger = { warn: (facts, message) => warnings.push(message), error: (facts, message) => warnings.push(message) };
const kernel = await createKernel({ store, logger, workspace: 'workspace', node: { executor: false } });
const loaded = [isLoaded()];
const { items } = await kernel.processes.list({ name: 'main' });
const pid = items[0]?.pid ?? (await kernel.processes.spawn({ name: 'main' }));
loaded.push(isLoaded());
await kernel.memory.create(pid, { type: 'observation', name, payload: text });
const { tokens, countedBy, text: context } = await kernel.memory.materialize(pid, { tokensMax: 1000 });
const objects = await kernel.memory.query(pid, { types: ['observation'] });
loaded.push(isLoaded());
console.log(JSON.stringify({
  tokens: Object.fromEntries(objects.items.map((object) => [object.name, object.tokens])),
  context: { tokens, countedBy, text: context },
  warnings,
  loaded,
}));
await kernel.shutdown();
`;

const exact = countTokens(text);

describe('a project without gpt-tokenizer', () => {
  it('counts by the estimate, says nothing, and goes on so when the package is installed later', () => {
    const without = run('a');
    const estimated = without.tokens.a ?? 0;
    expect(without).toMatchObject({ warnings: [], loaded: [false, false, false], context: { countedBy: 'estimate' } });
    expect(estimated).toBeGreaterThan(exact);
    installTokenizer();
    const later = run('b');
    expect(later).toMatchObject({ warnings: [], loaded: [false, false, false], context: { countedBy: 'estimate' } });
    expect(later.tokens).toEqual({ a: estimated, b: estimated });
  });
});

describe('a project with gpt-tokenizer', () => {
  it('counts exactly, and loads the table when the first text is written', () => {
    installTokenizer();
    const { tokens, context, warnings, loaded } = run('a');
    expect([tokens, warnings, loaded]).toEqual([{ a: exact }, [], [false, false, true]]);
    expect([context.countedBy, context.tokens <= 1_000]).toEqual(['o200k_base', true]);
    expect(countTokens(context.text)).toBeLessThanOrEqual(context.tokens);
  });

  it('lends its store to one without: that one warns and estimates, and what it wrote is counted here', () => {
    installTokenizer();
    run('a');
    removeTokenizer();
    const without = run('b');
    expect(without.warnings).toEqual([expect.stringContaining('gpt-tokenizer is not installed')]);
    expect(without.context.countedBy).toBe('estimate');
    expect([without.tokens.a, (without.tokens.b ?? 0) > exact]).toEqual([exact, true]);
    installTokenizer();
    const again = run('c');
    expect([again.tokens, again.warnings]).toEqual([{ a: exact, b: exact, c: exact }, []]);
    expect([again.context.countedBy, countTokens(again.context.text) <= again.context.tokens]).toEqual([
      'o200k_base',
      true,
    ]);
  });
});
