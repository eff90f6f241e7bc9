import { statSync } from 'node:fs';
import path from 'node:path';
import type { Kernel, KernelOptions } from '../index.js';
import { CliError } from './cli-error.js';

/** What every command is told: where the database is, and how to answer. */
export interface CommonOptions {
  readonly store?: string;
  /** Where the files are that `fs:` resources name. */
  readonly workspace?: string;
  readonly json?: boolean;
}

function storePath(options: CommonOptions): string {
  return path.resolve(options.store ?? (process.env.PROCURA_STORE || 'procura.db'));
}

/** Opens the database for looking, also one whose log is broken, and closes it after `work`. */
export function reading<T>(options: CommonOptions, work: (kernel: Kernel) => Promise<T>): Promise<T> {
  return opened(options, { readOnly: true }, work);
}

/**
 * Opens the database for a change, beside the kernel that may be running on it: unless `how` says otherwise it runs no
 * process and no timers. The file is opened for looking first, so that one that is not ours is never made ours.
 */
export async function writing<T>(
  options: CommonOptions,
  prepare: (kernel: Kernel) => Promise<T>,
  work: (kernel: Kernel, prepared: T) => Promise<void>,
  how: KernelOptions = { node: { name: 'procura-cli', executor: false } },
): Promise<void> {
  const prepared = await reading(options, prepare);
  await opened(options, how, (kernel) => work(kernel, prepared));
}

async function opened<T>(options: CommonOptions, how: KernelOptions, work: (kernel: Kernel) => Promise<T>): Promise<T> {
  const file = existingFile(storePath(options));
  const { createKernel } = await import('../index.js');
  const workspace = options.workspace ?? process.env.PROCURA_WORKSPACE;
  const files = workspace === undefined || workspace === '' ? {} : { workspace };
  const kernel = await createKernel({ ...how, ...files, store: `sqlite:${file}` });
  try {
    return await work(kernel);
  } finally {
    await kernel.shutdown();
  }
}

function existingFile(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found !== undefined && !(found.isFile() && found.size === 0)) return file;
  throw new CliError(
    'NO_SUCH_STORE',
    `There is no database at ${file}.`,
    'Name one with --store PATH or PROCURA_STORE; it is created by createKernel, never by this command.',
  );
}
