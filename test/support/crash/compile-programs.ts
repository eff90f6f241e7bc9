import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { afterAll } from 'vitest';

const repository = fileURLToPath(new URL('../../..', import.meta.url));
const programs = join(repository, 'test/crash/programs');

/** Bundles each program with the kernel into one file, which starts several times as fast. Answers with their folder. */
export async function compilePrograms(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'procura-programs-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  // Three levels down, as the storage layer is in the sources: it looks for the migrations from there.
  const out = join(folder, 'dist/storage/sqlite');
  mkdirSync(out, { recursive: true });
  for (const name of ['node_modules', 'migrations', 'package.json']) {
    symlinkSync(join(repository, name), join(folder, name));
  }
  const entries = readdirSync(programs).map((name) => [basename(name, '.ts'), join(programs, name)]);
  await build({
    root: repository,
    configFile: false,
    logLevel: 'error',
    ssr: { noExternal: true, external: ['better-sqlite3'] },
    build: {
      ssr: true,
      outDir: out,
      assetsDir: '',
      target: 'node20',
      minify: false,
      rollupOptions: { input: Object.fromEntries(entries) },
    },
  });
  return out;
}
