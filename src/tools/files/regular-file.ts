import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat } from 'node:fs/promises';
import { invalidPath } from '../../kernel/workspace/working-directory.js';
import { KernelFile, UnexpectedLink } from './file-errors.js';
import type { OpenFolder } from './open-folder.js';

/** A regular file, open for reading; never a pipe, a device or a socket, which could block the reader. */
export interface RegularFile extends AsyncDisposable {
  readonly size: number;
  /** At most `length` bytes from `offset` on; fewer at the end of the file. */
  read(offset: number, length: number): Promise<Buffer>;
}

/** Opens a regular file. Throws INVALID_PATH for everything else, with the path that the caller gave. */
export async function openRegular(folder: OpenFolder, name: string, inputPath: string): Promise<RegularFile> {
  // Opening some devices has an effect, so the type is checked before, and again on the handle in case it was replaced.
  const found = await lstat(folder.pathOf(name));
  requireRegular(found, inputPath);
  // Closing a file again would release the locks that SQLite holds on it.
  if (folder.isKernels(name, found)) throw new KernelFile();
  const handle = await folder.open(name, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    const stats = await handle.stat();
    requireRegular(stats, inputPath);
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

/** Throws INVALID_PATH, or UnexpectedLink, for what is not a regular file. */
export function requireRegular(stats: Stats, inputPath: string): void {
  if (stats.isSymbolicLink()) throw new UnexpectedLink();
  if (stats.isDirectory()) throw invalidPath(inputPath, 'it is a folder');
  if (!stats.isFile()) throw invalidPath(inputPath, 'it is not a regular file');
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
