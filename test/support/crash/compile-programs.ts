import { readdirSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build } from 'vite';
import { builtOnce, repository } from '../built-package.js';

const programs = join(repository, 'test/crash/programs');
const place = 'programs';

/**
 * Bundles each program with the kernel into one file, which starts several times as fast. Done once, and shared by all
 * test files that run them. Answers with their folder.
 */
export async function compilePrograms(): Promise<string> {
  const inputs = ['src', 'test/crash/programs', 'test/support', 'package.json'];
  return join(await builtOnce('programs', inputs, compileInto), place);
}

async function compileInto(folder: string): Promise<void> {
  // For packages that are not bundled, and so that the programs are ES modules.
  for (const name of ['node_modules', 'package.json']) symlinkSync(join(repository, name), join(folder, name));
  const entries = readdirSync(programs).map((name) => [basename(name, '.ts'), join(programs, name)]);
  await build({
    root: repository,
    configFile: false,
    logLevel: 'error',
    ssr: { noExternal: true, external: ['better-sqlite3', 'pg', 'langchain', '@langchain/core'] },
    build: {
      ssr: true,
      outDir: join(folder, place),
      assetsDir: '',
      target: 'node20',
      minify: false,
      rolldownOptions: {
        input: Object.fromEntries(entries),
        // No module of the kernel may lie in the file of a program: whoever imports it would run that program.
        output: { advancedChunks: { groups: [{ name: 'kernel', test: /\/src\/(?!integrations\/)/ }] } },
      },
    },
  });
}
