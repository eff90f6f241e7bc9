import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { rolldown } from 'rolldown';
import { describe, expect, it } from 'vitest';
import { builtPackage, repository } from '../support/built-package.js';
import { tempFolder } from '../support/kernel.js';

/** What an app that bundles everything else still needs: the native module and what loads its binary. */
const nativePackages = ['better-sqlite3', 'bindings', 'file-uri-to-path'];
const server = path.join(repository, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js');

/** Opens a store file, runs a command, has a foreign schema applied, and loads the compiler for a schema of its own. */
const app = `
import { createKernel, defineTool, KernelError } from 'procura';
const double = defineTool({
  name: 'double',
  description: 'Doubles a number.',
  input: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
  effect: 'pure',
  run: ({ n }) => n * 2,
});
const refusal = (error) => (error instanceof KernelError ? error.name + ' ' + error.code : String(error));
async function main() {
  const kernel = await createKernel({ store: 'app.db', workspace: 'workspace', tools: [double] });
  await kernel.tools.connectMcp('demo', { command: process.execPath, args: [${JSON.stringify(server)}] });
  const capabilities = [
    { resource: 'command:**', rights: ['call'] },
    { resource: 'tool:**', rights: ['call'] },
  ];
  const pid = await kernel.processes.spawn({ capabilities });
  const face = kernel.as(pid);
  const { exitCode, stdout } = await face.run({ argv: ['sh', '-c', 'echo from the command'] });
  console.log(exitCode, stdout.trim());
  console.log((await face.tools.call('mcp/demo/get-sum', { a: 2, b: 3 })).text);
  console.log(await face.tools.call('mcp/demo/get-sum', { a: 'two', b: 3 }).catch(refusal));
  console.log(await face.tools.call('double', { n: 4 }), await face.tools.call('double', { n: 'four' }).catch(refusal));
  await kernel.processes.exit(pid);
  await kernel.shutdown();
  const again = await createKernel({ store: 'app.db', readOnly: true });
  console.log((await again.processes.get(pid)).status, (await again.audit.verify()).ok);
  await again.shutdown();
}
void main();
`;

const printed = [
  '0 from the command',
  'The sum of 2 and 3 is 5.',
  'InputError INVALID_INPUT',
  '8 InputError INVALID_INPUT',
  'exited true',
];

describe('an app that is bundled with the package, and deployed with better-sqlite3 only', () => {
  for (const format of ['esm', 'cjs'] as const) {
    it(`works after esbuild, as ${format}`, async () => {
      const folder = deployment(format);
      await build({
        entryPoints: [await sourceFile()],
        outfile: path.join(folder, 'app.js'),
        bundle: true,
        platform: 'node',
        format,
        external: ['better-sqlite3'],
        logLevel: 'error',
      });
      expect(readdirSync(path.join(folder, 'node_modules')).sort()).toEqual([...nativePackages].sort());
      expect(await run(folder)).toEqual(printed);
    });

    it(`works after rolldown, as ${format}`, async () => {
      const folder = deployment(format);
      const bundle = await rolldown({
        input: await sourceFile(),
        platform: 'node',
        external: ['better-sqlite3'],
        logLevel: 'silent',
      });
      await bundle.write({ dir: folder, format, entryFileNames: 'app.js' });
      await bundle.close();
      expect(await run(folder)).toEqual(printed);
    });
  }
});

/** The source of the app in a folder of its own, where it finds the built package by its name. */
async function sourceFile(): Promise<string> {
  const folder = tempFolder();
  mkdirSync(path.join(folder, 'node_modules'));
  symlinkSync(await builtPackage(), path.join(folder, 'node_modules', 'procura'));
  const file = path.join(folder, 'app.js');
  writeFileSync(file, app);
  return file;
}

/** A folder for the app in which nothing can be found but the packages that are not bundled. */
function deployment(format: 'esm' | 'cjs'): string {
  const folder = tempFolder();
  for (const name of nativePackages) {
    const from = path.join(repository, 'node_modules', name);
    cpSync(from, path.join(folder, 'node_modules', name), {
      recursive: true,
      filter: (file) => !/\/(deps|src)$/.test(file),
    });
  }
  mkdirSync(path.join(folder, 'workspace'));
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ type: format === 'esm' ? 'module' : 'commonjs' }));
  return folder;
}

async function run(folder: string): Promise<string[]> {
  const { stdout } = await promisify(execFile)(process.execPath, ['app.js'], { cwd: folder, timeout: 100_000 });
  return stdout.trim().split('\n');
}
