/*
 * Writes the modules of src/ that are made from other files of the repository: the migrations from migrations/, and
 * the version from package.json. The package then needs neither at run time, and an application can be bundled.
 *
 *   tsx scripts/generate-code.ts           writes the modules
 *   tsx scripts/generate-code.ts --check   fails when a module is not up to date
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const modules: Record<string, () => string> = {
  'src/storage/sqlite/migrations.ts': () => migrationsModule('sqlite'),
  'src/storage/postgres/migrations.ts': () => migrationsModule('postgres'),
  'src/base/package/package-version.ts': versionModule,
};

for (const [name, write] of Object.entries(modules)) {
  const file = pathOf(name);
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const after = write();
  if (before === after) continue;
  if (process.argv.includes('--check')) {
    process.stderr.write(`${name} is stale. Run: npx tsx scripts/generate-code.ts\n`);
    process.exitCode = 1;
  } else writeFileSync(file, after);
}

function migrationsModule(engine: 'sqlite' | 'postgres'): string {
  const { entries } = JSON.parse(read(`migrations/${engine}/meta/_journal.json`)) as { entries: { tag: string }[] };
  const migrations = entries.map(
    ({ tag }) =>
      `  {\n    name: '${tag}',\n    sql: \`${escapeTemplate(read(`migrations/${engine}/${tag}.sql`))}\`,\n  },\n`,
  );
  return `// Generated from migrations/${engine} by scripts/generate-code.ts.

import type { Migration } from '../files/migration.js';

/** All migrations in order: a database of schema n has had the first n of them. */
export const migrations: readonly Migration[] = [
${migrations.join('')}];
`;
}

function versionModule(): string {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  return `// Generated from package.json by scripts/generate-code.ts.

/** The version of this package, such as \`1.2.3\`. */
export const packageVersion = '${version}';
`;
}

/** The text as the content of a template literal. */
function escapeTemplate(text: string): string {
  return text.replace(/[\\`]|\$\{/g, '\\$&');
}

function read(name: string): string {
  return readFileSync(pathOf(name), 'utf8');
}

function pathOf(name: string): string {
  return fileURLToPath(new URL(`../${name}`, import.meta.url));
}
