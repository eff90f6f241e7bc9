import type { Stats } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';
import { systemCode } from './file-errors.js';
import type { OpenFolder } from './open-folder.js';

export const entryTypes = ['file', 'directory', 'link', 'other'] as const;

export type EntryType = (typeof entryTypes)[number];

export interface FolderNames {
  readonly names: readonly string[];
  /** There are more than are looked at, so that the first of these need not be the first of all. */
  readonly isTruncated: boolean;
}

const namesMax = 100_000;

/** The names in a folder, in the order of their characters. */
export async function listNames(folder: OpenFolder, signal: AbortSignal): Promise<FolderNames> {
  const names: string[] = [];
  let isCut = false;
  for await (const { name } of await opendir(folder.ownPath, { bufferSize: 256 })) {
    signal.throwIfAborted();
    isCut = names.length >= namesMax;
    if (isCut) break;
    names.push(name);
  }
  await folder.verify();
  return { names: names.sort(), isTruncated: isCut };
}

/** What an entry is; undefined when it is gone. A link is a link, wherever it leads. */
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
