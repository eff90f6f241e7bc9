import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { storeAt } from './storage/store-at.js';

let template: Promise<Buffer> | undefined;

/** Writes a database file that has the tables as a kernel makes them, and no rows: to run all migrations takes longer. */
export async function writeEmptyDatabase(path: string): Promise<void> {
  template ??= makeTemplate();
  await writeFile(path, await template, { mode: 0o600 });
}

async function makeTemplate(): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'procura-template-'));
  try {
    const path = join(folder, 'template.db');
    const store = storeAt(path);
    await store.open();
    await store.close();
    return await readFile(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
