/*
 * Installs the packed package in projects like those of users, and runs and compiles programs there: package managers,
 * compilers, bundlers and schema libraries. Prints a line per case; fails when one fails.
 *
 *   tsx scripts/check-consumers.ts              all cases, in a few minutes
 *   tsx scripts/check-consumers.ts zod pnpm     those whose name contains one of the texts
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { build } from 'esbuild';
import { rolldown } from 'rolldown';
import { Consumer, installTools, localPackage, repository } from './consumers/consumer.js';
import {
  agentProgram,
  agentProgramOutput,
  commonJsProgram,
  esmProgram,
  programOutput,
  schemaProgram,
  schemaProgramOutput,
  typedProgram,
} from './consumers/programs.js';

type Case = readonly [name: string, check: () => Promise<void>];

const folder = mkdtempSync(path.join(tmpdir(), 'procura-consumers-'));
const place = (name: string) => path.join(folder, name);
const tarball = packPackage();
/** Left out of bundles: the native package, and the optional ones that the project has not. */
const external = ['better-sqlite3', ...Object.keys(packageManifest().peerDependencies)];

/** A project that has installed the package with npm, without the binary of better-sqlite3. */
const installed = once(async () => {
  const project = new Consumer(place('installed'));
  await project.installWithNpm(manifest({ '@types/node': localPackage('@types/node', 'consumers') }));
  return project;
});

/** The same with the binary. */
const ready = once(async () => {
  const project = (await installed()).copy(place('ready'));
  project.addBinary();
  project.write('program.mjs', esmProgram);
  project.write('program.cjs', commonJsProgram);
  project.write('typed.mts', typedProgram);
  return project;
});

const cases: readonly Case[] = [
  // Compiles better-sqlite3, which takes longest.
  ['pnpm, with approved builds: runs', () => checkPnpm({ isApproved: true })],
  ['npm, module: runs', async () => equal(await (await ready()).node('program.mjs'), programOutput)],
  ['npm, CommonJS: runs', async () => equal(await (await ready()).node('program.cjs'), programOutput)],
  ['npm, --ignore-scripts: says what is missing', checkIgnoredScripts],
  ['pnpm, without approved builds: says what is missing', () => checkPnpm({ isApproved: false })],
  ...typeScriptCases(),
  ['esbuild: the bundle runs', () => checkBundle('esbuild', bundleWithEsbuild)],
  ['rolldown: the bundle runs', () => checkBundle('rolldown', bundleWithRolldown)],
  [
    'zod 3: validates and infers',
    () => checkSchemas('zod', 'consumers', "{ z } from 'zod'", 'z.object({ n: z.number() })'),
  ],
  [
    'zod 4: validates and infers',
    () => checkSchemas('zod', 'repository', "{ z } from 'zod'", 'z.object({ n: z.number() })'),
  ],
  [
    'valibot: validates and infers',
    () => checkSchemas('valibot', 'repository', "* as v from 'valibot'", 'v.object({ n: v.number() })'),
  ],
  [
    'arktype: validates and infers',
    () => checkSchemas('arktype', 'repository', "{ type } from 'arktype'", "type({ n: 'number' })"),
  ],
  ['ai 6: an agent runs, with types', () => checkAgent('package.json', 'v3')],
  ['ai 7: an agent runs, with types', () => checkAgent('test/adapters/ai-7/package.json', 'v4')],
];

try {
  await installTools();
  const wanted = process.argv.slice(2);
  const isWanted = ([name]: Case) => wanted.length === 0 || wanted.some((text) => name.includes(text));
  const failures = await checkAll(cases.filter(isWanted));
  if (failures > 0) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Runs two cases at a time; returns how many have failed. */
async function checkAll(all: readonly Case[]): Promise<number> {
  const queue = [...all];
  let failures = 0;
  const worker = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const [name, check] = next;
      const error = await check().then(
        () => undefined,
        (reason: unknown) => String(reason instanceof Error ? reason.message : reason),
      );
      process.stdout.write(error === undefined ? `ok      ${name}\n` : `failed  ${name}\n${indent(error)}\n`);
      if (error !== undefined) failures++;
    }
  };
  await Promise.all([worker(), worker()]);
  return failures;
}

function typeScriptCases(): Case[] {
  const resolutions = [
    { module: 'node16', moduleResolution: 'node16' },
    { module: 'nodenext', moduleResolution: 'nodenext' },
    { module: 'esnext', moduleResolution: 'bundler' },
  ];
  // Servers name the types of Node and leave the DOM out; who names nothing has the DOM, and Node as the compiler's version has it.
  const settings = [
    { types: ['node'], lib: ['ES2023'], exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
    {},
  ];
  return ['5.6', '5.9', '6.0', '7.0'].flatMap((version) =>
    resolutions.flatMap((resolution) =>
      settings.map((setting): Case => {
        const types = 'types' in setting ? ', types: ["node"]' : '';
        const check = async () =>
          (await ready()).compile(`typescript-${version}`, 'typed.mts', { ...resolution, ...setting });
        return [`TypeScript ${version}, ${resolution.moduleResolution}${types}: compiles`, check];
      }),
    ),
  );
}

async function checkIgnoredScripts(): Promise<void> {
  const project = (await installed()).copy(place('ignored-scripts'));
  project.write('program.mjs', esmProgram);
  assert.match(await project.node('program.mjs'), /^STORE_UNSUPPORTED .*npm rebuild better-sqlite3/);
}

async function checkPnpm({ isApproved }: { readonly isApproved: boolean }): Promise<void> {
  const project = new Consumer(place(isApproved ? 'pnpm-approved' : 'pnpm'));
  const approval = isApproved ? { pnpm: { onlyBuiltDependencies: ['better-sqlite3'] } } : {};
  await project.installWithPnpm({ ...manifest(), ...approval });
  project.write('program.mjs', esmProgram);
  const output = await project.node('program.mjs');
  if (isApproved) equal(output, programOutput);
  else assert.match(output, /^STORE_UNSUPPORTED .*pnpm /);
}

/** The bundle runs where only the package with the native binary is installed. */
async function checkBundle(name: string, bundle: (entry: string, file: string) => Promise<void>): Promise<void> {
  const source = await ready();
  const project = new Consumer(place(name));
  await bundle(path.join(source.folder, 'program.mjs'), path.join(project.folder, 'bundle.mjs'));
  mkdirSync(path.join(project.folder, 'node_modules'));
  for (const dependency of ['better-sqlite3', 'bindings', 'file-uri-to-path']) {
    const modules = path.join('node_modules', dependency);
    cpSync(path.join(source.folder, modules), path.join(project.folder, modules), { recursive: true });
  }
  equal(await project.node('bundle.mjs'), programOutput);
}

async function bundleWithEsbuild(entry: string, outfile: string): Promise<void> {
  const banner = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external,
    banner: { js: banner },
    logLevel: 'error',
  });
}

async function bundleWithRolldown(input: string, file: string): Promise<void> {
  const bundle = await rolldown({ input, platform: 'node', external });
  await bundle.write({ file, format: 'esm', codeSplitting: false });
  await bundle.close();
}

async function checkSchemas(
  library: string,
  from: 'repository' | 'consumers',
  imported: string,
  schema: string,
): Promise<void> {
  const project = new Consumer(place(`${library}-${from}`));
  await project.installWithNpm(
    manifest({ [library]: localPackage(library, from), '@types/node': localPackage('@types/node', 'consumers') }),
  );
  project.addBinary();
  const source = schemaProgram(imported, schema);
  project.write('program.mjs', source);
  project.write('program.mts', source);
  equal(await project.node('program.mjs'), schemaProgramOutput);
  await project.compile('typescript-5.9', 'program.mts', { module: 'nodenext', types: ['node'] });
}

/** The project installs the version of the AI SDK that a manifest of the repository names. */
async function checkAgent(from: string, specificationVersion: 'v3' | 'v4'): Promise<void> {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(path.join(repository, from), 'utf8'));
  const { ai } = { ...devDependencies, ...dependencies };
  const project = new Consumer(place(`ai-${specificationVersion}`));
  await project.installWithNpm(manifest({ ai, '@types/node': localPackage('@types/node', 'consumers') }));
  project.addBinary();
  const source = agentProgram(specificationVersion);
  project.write('program.mts', source);
  project.write('program.mjs', source.replace(' as const', '').replaceAll(/ satisfies \w+/g, ''));
  equal(await project.node('program.mjs'), agentProgramOutput);
  // The declarations of the SDK need @types/json-schema, which it does not install.
  await project.compile('typescript-5.9', 'program.mts', { module: 'nodenext', types: ['node'], skipLibCheck: true });
}

/** A project with the package. The version of better-sqlite3 is the one that the repository has compiled. */
function manifest(dependencies: Record<string, string> = {}): object {
  const { version } = JSON.parse(
    readFileSync(path.join(repository, 'node_modules', 'better-sqlite3', 'package.json'), 'utf8'),
  ) as { version: string };
  return {
    name: 'consumer',
    private: true,
    dependencies: { procura: `file:${tarball}`, ...dependencies },
    overrides: { 'better-sqlite3': version },
  };
}

function packPackage(): string {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const [packed] = JSON.parse(
    execFileSync('npm', args, { cwd: repository, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }),
  ) as { filename: string }[];
  return place(packed?.filename ?? '');
}

function packageManifest(): { readonly peerDependencies: Record<string, string> } {
  return JSON.parse(readFileSync(path.join(repository, 'package.json'), 'utf8'));
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

function equal(actual: string, expected: string): void {
  assert.equal(actual, expected);
}

function indent(text: string): string {
  return text.trimEnd().replaceAll(/^/gm, '        ');
}
