import { statSync } from 'node:fs';
import path from 'node:path';
import type { Kernel, KernelOptions } from '../index.js';
import { CliError } from './cli-error.js';
import { errorLogger } from './logger.js';

/** Options of every command. */
export interface CommonOptions {
  readonly store?: string;
  /** The folder that `fs:` resources refer to. */
  readonly workspace?: string;
  /** The state folder of the database, where it is not the one beside it. */
  readonly state?: string;
  readonly json?: boolean;
}

/** The address for createKernel: of a server as it is, of a file by its full path. */
function storeAddress(options: CommonOptions): string {
  const store = options.store ?? (process.env.PROCURA_STORE || 'procura.db');
  if (/^\w+:\/\//.test(store)) return store;
  return `sqlite:${assertStoreExists(path.resolve(store.replace(/^sqlite:/, '')))}`;
}

/** Opens the store read-only, also one whose log is broken, and closes it after `work`. */
export function withReadOnlyStore<T>(options: CommonOptions, work: (kernel: Kernel) => Promise<T>): Promise<T> {
  return withKernel(options, { readOnly: true }, work);
}

/**
 * Opens the store for a change, beside the kernel that may be running on it: by default it runs no processes and no timers.
 * Runs `prepare` on a read-only kernel first, so that a file of another program is refused before anything is written.
 */
export async function withWritableStore<T>(
  options: CommonOptions,
  prepare: (kernel: Kernel) => Promise<T>,
  work: (kernel: Kernel, prepared: T) => Promise<void>,
  kernelOptions: KernelOptions = { node: { name: 'procura-cli', executor: false } },
): Promise<void> {
  const prepared = await withReadOnlyStore(options, prepare);
  await withKernel(options, kernelOptions, (kernel) => work(kernel, prepared));
}

async function withKernel<T>(
  options: CommonOptions,
  kernelOptions: KernelOptions,
  work: (kernel: Kernel) => Promise<T>,
): Promise<T> {
  const store = storeAddress(options);
  const { createKernel } = await import('../index.js');
  const workspace = options.workspace ?? process.env.PROCURA_WORKSPACE;
  const state = options.state ?? process.env.PROCURA_STATE;
  const folders = { ...optional('workspace', workspace), ...optional('state', state) };
  const kernel = await createKernel({ logger: errorLogger, ...kernelOptions, ...folders, store });
  try {
    return await work(kernel);
  } finally {
    await kernel.shutdown();
  }
}

function optional(name: string, value: string | undefined): Record<string, string> {
  return value === undefined || value === '' ? {} : { [name]: value };
}

function assertStoreExists(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found !== undefined && !(found.isFile() && found.size === 0)) return file;
  throw new CliError(
    'NO_SUCH_STORE',
    `There is no database at ${file}.`,
    'Name one with --store PATH or PROCURA_STORE; it is created by createKernel, never by this command.',
  );
}
