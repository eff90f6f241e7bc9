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

/** The address for createKernel: of a server as it is, of a file by its full path. Throws NO_SUCH_STORE. */
export function storeAddress(options: Pick<CommonOptions, 'store'>): string {
  const store = options.store ?? (process.env.PROCURA_STORE || 'procura.db');
  if (isServer(store)) return store;
  return `sqlite:${assertStoreExists(pathOf(store))}`;
}

/** The address of a store that is not there yet. */
export function newStoreAddress(store: string): string {
  return isServer(store) || store === ':memory:' ? store : `sqlite:${pathOf(store)}`;
}

/** The state folder that the options or the environment name. */
export function stateOf(options: Pick<CommonOptions, 'state'>): string | undefined {
  return options.state ?? (process.env.PROCURA_STATE || undefined);
}

function isServer(store: string): boolean {
  return /^\w+:\/\//.test(store);
}

function pathOf(store: string): string {
  return path.resolve(store.replace(/^sqlite:/, ''));
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
  const folders = { ...optional('workspace', workspace), ...optional('state', stateOf(options)) };
  const kernel = await createKernel({ logger: errorLogger, ...kernelOptions, ...folders, store }).catch(explainMissing);
  try {
    return await work(kernel);
  } finally {
    await kernel.shutdown();
  }
}

/** A schema without tables is to this command what a missing file is. */
export function explainMissing(error: unknown): never {
  const { facts } =
    error instanceof Error && 'facts' in error ? (error as { facts: { problem?: unknown } }) : { facts: {} };
  if (error instanceof Error && facts.problem === 'has no tables of Procura') throw noStore(error.message);
  throw error;
}

function optional(name: string, value: string | undefined): Record<string, string> {
  return value === undefined || value === '' ? {} : { [name]: value };
}

function assertStoreExists(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found !== undefined && !(found.isFile() && found.size === 0)) return file;
  throw noStore(`There is no database at ${file}.`);
}

function noStore(message: string): CliError {
  return new CliError(
    'NO_SUCH_STORE',
    message,
    'Name one with --store STORE or PROCURA_STORE; it is created by createKernel, never by this command.',
  );
}
