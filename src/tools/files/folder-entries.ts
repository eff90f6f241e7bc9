import type { Stats } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';
import { systemCode } from './file-errors.js';
import type { OpenFolder } from './open-folder.js';

export const entryTypes = ['file', 'directory', 'link', 'other'] as const;

export type EntryType = (typeof entryTypes)[number];

export interface FolderNames {
  readonly names: readonly string[];
  /** There are more names than were read, so that the first of these need not be the first of all. */
  readonly isTruncated: boolean;
}

const namesMax = 100_000;

/** The names in a folder, sorted by code units. */
export async function listNames(folder: OpenFolder, signal: AbortSignal): Promise<FolderNames> {
  const names: string[] = [];
  let isTruncated = false;
  for await (const { name } of await opendir(folder.ownPath, { bufferSize: 256 })) {
    signal.throwIfAborted();
    isTruncated = names.length >= namesMax;
    if (isTruncated) break;
    names.push(name);
  }
  await folder.verify();
  return { names: names.sort(), isTruncated };
}

/** Undefined when there is no such entry. Does not follow a link. */
export async function statEntry(folder: OpenFolder, name: string): Promise<Stats | undefined> {
  try {
    return await lstat(folder.pathOf(name));
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

export function entryType(stats: Stats): EntryType {
  if (stats.isFile()) return 'file';
  if (stats.isDirectory()) return 'directory';
  return stats.isSymbolicLink() ? 'link' : 'other';
}
