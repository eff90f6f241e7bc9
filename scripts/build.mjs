/*
 * Builds the package into dist/: declarations by tsc, one file per module, and code by esbuild, one bundle per entry with
 * shared chunks. Plain JavaScript, so that it runs with nothing but the dependencies for development.
 *
 *   node scripts/build.mjs [OUTDIR]
 *
 * The entries of the library are the `exports` of package.json: one that is added there is built.
 */
import { spawn } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { pruneDeclarations } from './prune-declarations.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const outdir = path.resolve(process.argv[2] ?? path.join(root, 'dist'));
const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));

/**
 * Dependencies that are bundled although users install them: they are hundreds of modules, which take longer to load than the
 * kernel itself. They stay dependencies for the modules that callers give to `createKernel({ modules })`, which bind and
 * build on them.
 */
const bundledDependencies = ['drizzle-orm', 'eventemitter3', 'inversify', 'reflect-metadata'];
const installed = [...Object.keys(manifest.dependencies), ...Object.keys(manifest.peerDependencies)];
const external = installed.filter((name) => !bundledDependencies.includes(name)).flatMap((name) => [name, `${name}/*`]);

/** @type {import('esbuild').BuildOptions} */
const common = {
  absWorkingDir: root,
  tsconfig: 'tsconfig.json',
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node20.19',
  // Names of classes are names of errors: identifiers are not minified.
  minify: false,
  external,
  metafile: true,
  legalComments: 'none',
  logLevel: 'warning',
};

function compileDeclarations() {
  const compiler = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  const config = path.join(root, 'tsconfig.build.json');
  const tsc = spawn(process.execPath, [compiler, '-p', config, '--outDir', outdir], { stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    tsc.once('error', reject);
    tsc.once('exit', (code) => (code === 0 ? resolve(undefined) : reject(new Error(`tsc ended with code ${code}`))));
  });
}

function buildLibrary() {
  const targets = Object.values(manifest.exports).flatMap((target) => target.default ?? []);
  return build({
    ...common,
    entryPoints: entriesOf(targets),
    outdir,
    splitting: true,
    chunkNames: 'chunks/[name]-[hash]',
    plugins: [schemaCompilers],
  });
}

/** The command uses the library by its entries, so that there is one kernel in a program that loads both. */
function buildCommand() {
  return build({
    ...common,
    entryPoints: entriesOf(Object.values(manifest.bin)),
    outdir,
    splitting: true,
    chunkNames: 'cli/[name]-[hash]',
    // The modules of CommonJS that are bundled here require modules of Node.
    banner: { js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);" },
    plugins: [libraryEntries],
  });
}

/** The verifier is a file of its own that needs nothing but Node. */
function buildVerifier() {
  return build({ ...common, entryPoints: entriesOf(['./dist/verify.js']), outdir, external: [] });
}

/**
 * The source of each built file, by the name of the output.
 *
 * @param {readonly string[]} targets
 */
function entriesOf(targets) {
  const names = targets.map((target) => path.posix.relative('dist', target).replace(/\.js$/, ''));
  return Object.fromEntries(names.map((name) => [name, `src/${name}.ts`]));
}

/** @type {import('esbuild').Plugin} */
const libraryEntries = {
  name: 'library-entries',
  setup({ onResolve }) {
    onResolve({ filter: /\/index\.js$/ }, ({ path: name, resolveDir, kind }) => {
      if (kind === 'entry-point' || !name.startsWith('.')) return undefined;
      const file = path.relative(path.join(root, 'src'), path.resolve(resolveDir, name)).replaceAll(path.sep, '/');
      // All files of the command are in the folder cli/.
      return file.startsWith('..') ? undefined : { path: `../${file}`, external: true };
    });
  },
};

/** The files of the schema compiler, for the list of licenses. @type {string[]} */
const compilerInputs = [];

/**
 * Replaces the module that loads the schema compiler for worker threads by one that has its code as a text: a bundled
 * application has no folder to load it from.
 *
 * @type {import('esbuild').Plugin}
 */
const schemaCompilers = {
  name: 'schema-compilers',
  setup({ onLoad }) {
    onLoad({ filter: /[\\/]src[\\/]tools[\\/]mcp[\\/]schema-compilers\.ts$/ }, async () => {
      const { outputFiles, metafile } = await build({
        absWorkingDir: root,
        stdin: {
          contents: "export { Ajv } from 'ajv';\nexport { Ajv2020 } from 'ajv/dist/2020.js';\n",
          resolveDir: root,
        },
        bundle: true,
        minify: true,
        write: false,
        format: 'iife',
        globalName: 'schemaCompilers',
        platform: 'node',
        target: common.target,
        legalComments: 'none',
        metafile: true,
      });
      compilerInputs.push(...Object.keys(metafile.inputs));
      const text = `${outputFiles[0].text}const { Ajv, Ajv2020 } = schemaCompilers;\n`;
      return { contents: `export const schemaCompilers = ${JSON.stringify(text)};\n`, loader: 'js' };
    });
  },
};

/**
 * Keeps the licenses of the packages whose code is in the bundles.
 *
 * @param {readonly string[]} inputs
 */
function writeLicenses(inputs) {
  const folders = new Set(inputs.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  const texts = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(path.join(root, folder, 'package.json'), 'utf8'));
    const file = readdirSync(path.join(root, folder)).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file === undefined ? '' : `\n\n${readFileSync(path.join(root, folder, file), 'utf8').trim()}`;
    return `${name} ${version} (${license})${text}`;
  });
  const rule = `\n\n${'-'.repeat(80)}\n\n`;
  const head = 'The files of this folder contain code of these packages.';
  writeFileSync(path.join(outdir, 'THIRD-PARTY-LICENSES.txt'), `${[head, ...texts].join(rule)}\n`);
}

rmSync(outdir, { recursive: true, force: true });
const [, ...results] = await Promise.all([compileDeclarations(), buildLibrary(), buildCommand(), buildVerifier()]);
pruneDeclarations(outdir);
writeLicenses([...results.flatMap(({ metafile }) => Object.keys(metafile.inputs)), ...compilerInputs]);
for (const target of Object.values(manifest.bin)) {
  chmodSync(path.join(outdir, path.posix.relative('dist', target)), 0o755);
}
