import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat } from 'node:fs/promises';
import { invalidPath } from '../../kernel/workspace/working-directory.js';
import { UnexpectedLink } from './file-errors.js';
import type { OpenFolder } from './open-folder.js';

/** A file with bytes in it, open for reading; not a pipe, a device or a socket, which could keep the reader waiting. */
export interface RegularFile extends AsyncDisposable {
  readonly size: number;
  /** At most `length` bytes from `offset` on; fewer at the end of the file. */
  read(offset: number, length: number): Promise<Buffer>;
}

/** Opens a regular file. Throws INVALID_PATH for everything else. `shown` is the path that was asked for. */
export async function openRegular(folder: OpenFolder, name: string, shown: string): Promise<RegularFile> {
  // Opening is an act already for some devices, so it is looked at before, and again in case it was another one.
  requireRegular(await lstat(folder.pathOf(name)), shown);
  const handle = await folder.open(name, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = await handle.stat();
    requireRegular(stats, shown);
    return {
      size: stats.size,
      read: (offset, length) => readPart(handle, offset, Math.min(length, Math.max(0, stats.size - offset))),
      [Symbol.asyncDispose]: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Throws INVALID_PATH, or LinkMet, for what is not a regular file. */
export function requireRegular(stats: Stats, shown: string): void {
  if (stats.isSymbolicLink()) throw new UnexpectedLink();
  if (stats.isDirectory()) throw invalidPath(shown, 'it is a folder');
  if (!stats.isFile()) throw invalidPath(shown, 'it is not a regular file');
}

async function readPart(handle: FileHandle, offset: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length);
  let filled = 0;
  while (filled < length) {
    const { bytesRead } = await handle.read(bytes, filled, length - filled, offset + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return bytes.subarray(0, filled);
}
