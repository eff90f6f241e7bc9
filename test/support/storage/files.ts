import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';

/** Every file of `folder` with the hash of its bytes: two of them are equal when nothing was touched. */
export function hashFiles(folder: string): Record<string, string> {
  const names = readdirSync(folder).sort();
  return Object.fromEntries(names.map((name) => [name, fingerprint(join(folder, name))]));
}

function fingerprint(path: string): string {
  const stats = statSync(path);
  if (!stats.isFile()) return 'not a file';
  return `${stats.size} bytes, ${createHash('sha256').update(readFileSync(path)).digest('hex')}`;
}

/** Runs statements on a connection of its own, as another program would. */
export function execute(path: string, ...statements: string[]): void {
  const raw = new Database(path);
  try {
    for (const statement of statements) raw.exec(statement);
  } finally {
    raw.close();
  }
}
