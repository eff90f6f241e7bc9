import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createKernel, type Kernel, KernelError, type KernelOptions } from '../../src/index.js';

/** A new folder that is removed after the test. */
export function tempFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'procura-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** The address of a new, empty store. Another store is tested by answering with its address here. */
export function newStore(): string {
  return join(tempFolder(), 'test.db');
}

/**
 * A kernel on a new store, or on the one that is named; shut down after the test. Its commits do not wait for the disk, which
 * only a power cut would tell: the contract of the store is tested with both kinds of durability.
 */
export async function openKernel(options: KernelOptions = {}): Promise<Kernel> {
  const defaults = { logger: 'silent', durability: 'normal', store: newStore(), workspace: tempFolder() } as const;
  const kernel = await createKernel({ ...defaults, ...options });
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
