import { constants, existsSync, type Stats } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, realpath } from 'node:fs/promises';
import path from 'node:path';
import type { KernelFiles } from '../../kernel/workspace/kernel-files.js';
import { KernelFile, systemCode, UnexpectedLink } from './file-errors.js';

/**
 * The way to find entries of an open folder. On Linux through the descriptor of the folder, so that no name above it is looked
 * up again and no link can take its place. On other systems by the path: links on it are refused where the system can do
 * that (macOS), and the folder is compared with the one that was opened, before and after each use.
 */
export type LookupMode = 'descriptor' | 'path';

/** How file tools reach files, and which of them they never open. */
export interface FileAccess {
  readonly lookupMode: LookupMode;
  readonly kernelFiles: KernelFiles;
}

export const defaultLookupMode: LookupMode =
  process.platform === 'linux' && existsSync('/proc/self/fd') ? 'descriptor' : 'path';

// macOS: no link anywhere in the path. Windows has none of these flags.
const noLinks = (constants.O_NOFOLLOW ?? 0) | (process.platform === 'darwin' ? 0x20000000 : 0);
const folderFlags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | noLinks;

/** Opens the folder at `names` below the workspace, without following links. `make`: creates missing folders. */
export async function openBelow(
  workspace: string,
  names: readonly string[],
  access: FileAccess,
  make = false,
): Promise<OpenFolder> {
  if (access.kernelFiles.covers(path.join(workspace, ...names))) throw new KernelFile();
  let folder = await OpenFolder.workspace(workspace, access);
  for (const name of names) {
    await using above = folder;
    folder = await above.folder(name, make);
  }
  return folder;
}

/** An open folder of the workspace: it stays the same folder when its name is changed. Must be disposed of. */
export class OpenFolder implements AsyncDisposable {
  private constructor(
    private readonly handle: FileHandle,
    private readonly real: string,
    private readonly access: FileAccess,
  ) {}

  /** Opens the workspace itself. `workspace` is a real path. */
  static async workspace(workspace: string, access: FileAccess): Promise<OpenFolder> {
    return OpenFolder.openAt(workspace, workspace, access);
  }

  private static async openAt(lookupPath: string, real: string, access: FileAccess): Promise<OpenFolder> {
    const folder = new OpenFolder(await open(lookupPath, folderFlags), real, access);
    try {
      await folder.verify();
      if (access.kernelFiles.includes(await folder.stat())) throw new KernelFile();
      return folder;
    } catch (error) {
      await folder[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** A path by which this folder can be used. */
  get ownPath(): string {
    return this.access.lookupMode === 'descriptor' ? `/proc/self/fd/${this.handle.fd}` : this.real;
  }

  /** A path to an entry. Must be used without following a link. */
  pathOf(name: string): string {
    return `${this.ownPath}/${name}`;
  }

  /** Opens a folder in it. `make`: creates it when it is missing. */
  async folder(name: string, make = false): Promise<OpenFolder> {
    if (make) await mkdir(this.pathOf(name)).catch(ignoreExisting);
    return OpenFolder.openAt(this.pathOf(name), path.join(this.real, name), this.access);
  }

  /** Opens an entry with these flags and, for a new one, this mode, without following a link. */
  async open(name: string, flags: number, mode?: number): Promise<FileHandle> {
    const handle = await open(this.pathOf(name), flags | noLinks, mode);
    try {
      await this.verify();
      const stats = await handle.stat();
      if (this.access.lookupMode === 'path') verifySame(stats, await lstat(this.pathOf(name)));
      if (this.isKernels(name, stats)) throw new KernelFile();
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Whether an entry belongs to the kernel, by its name or by what it is. */
  isKernels(name: string, stats?: Stats): boolean {
    const { kernelFiles } = this.access;
    return kernelFiles.covers(path.join(this.real, name)) || (stats !== undefined && kernelFiles.includes(stats));
  }

  stat(): Promise<Stats> {
    return this.handle.stat();
  }

  /** Makes changes of its entries durable. */
  sync(): Promise<void> {
    return this.handle.sync();
  }

  /** Throws UnexpectedLink when its path leads to another folder now. A descriptor always leads to the same one. */
  async verify(): Promise<void> {
    if (this.access.lookupMode === 'descriptor') return;
    if ((await realpath(this.real)) !== this.real) throw new UnexpectedLink();
    verifySame(await this.handle.stat(), await lstat(this.real));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.handle.close();
  }
}

function verifySame(opened: Stats, found: Stats): void {
  if (opened.ino !== found.ino || opened.dev !== found.dev) throw new UnexpectedLink();
}

function ignoreExisting(error: unknown): void {
  if (systemCode(error) !== 'EEXIST') throw error;
}
