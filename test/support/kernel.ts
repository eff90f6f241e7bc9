import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createKernel, type Kernel, KernelError, type KernelOptions } from '../../src/index.js';
import { giveBack, takeDatabase } from './postgres-databases.js';
import { writeEmptyDatabase } from './sqlite-template.js';
import { isSqlite } from './store-kind.js';

/** A new folder that is removed after the test. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'procura-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The address of a new, empty store of the kind that is tested, which is gone after the test. A file is not there yet. */
export async function newStore(): Promise<string> {
  if (isSqlite) return join(tempFolder(), 'test.db');
  const address = await takeDatabase();
  onTestFinished(() => giveBack(address));
  return address;
}

/** As `newStore`, with the tables in it already. */
export async function newStoreWithTables(): Promise<string> {
  const store = await newStore();
  if (isSqlite) await writeEmptyDatabase(store);
  return store;
}

/**
 * A kernel on a new store, or on the one that is named; shut down after the test. Its commits do not wait for the disk, which
 * only a power cut would tell: the contract of the store is tested with both kinds of durability.
 */
export async function openKernel(options: KernelOptions = {}): Promise<Kernel> {
  const store = options.store ?? (await newStoreWithTables());
  const defaults = { logger: 'silent', durability: 'normal', workspace: tempFolder() } as const;
  const kernel = await createKernel({ ...defaults, ...options, store });
  onTestFinished(async () => void (await kernel.shutdown()));
  return kernel;
}

/** The refusal of `call`. Fails the test when it was not refused, or when the error is no KernelError with a hint. */
export async function refusal(call: Promise<unknown>): Promise<{ code: string; facts: unknown }> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof KernelError)) throw error;
    if (error.hint === '') throw new Error(`${error.code} has no hint`);
    return { code: error.code, facts: error.facts };
  }
  throw new Error('the call was not refused');
}
