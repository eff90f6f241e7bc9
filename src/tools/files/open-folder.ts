import { constants, existsSync, type Stats } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, realpath } from 'node:fs/promises';
import path from 'node:path';
import { LinkMet, systemCode } from './file-errors.js';

/**
 * How what lies in an open folder is reached. Linux finds it through the descriptor of the folder, so that no name above
 * it is looked up again, and no link that takes its place leads elsewhere. Elsewhere there is only the path: links on it
 * are refused where the system can (macOS), and the folder is compared with what was opened before and after each use.
 */
export type LookupMode = 'descriptor' | 'path';

export const bestReach: LookupMode =
  process.platform === 'linux' && existsSync('/proc/self/fd') ? 'descriptor' : 'path';

// macOS: no link anywhere in the path. Windows has none of these flags.
const noLinks = (constants.O_NOFOLLOW ?? 0) | (process.platform === 'darwin' ? 0x20000000 : 0);
const folderFlags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | noLinks;

/** The folder at `names` below the workspace, by way of folders only. `make`: those that are missing are made. */
export async function openBelow(
  workspace: string,
  names: readonly string[],
  reach: LookupMode,
  make = false,
): Promise<OpenFolder> {
  let folder = await OpenFolder.workspace(workspace, reach);
  for (const name of names) {
    await using above = folder;
    folder = await above.folder(name, make);
  }
  return folder;
}

/** A folder of the workspace that stays the one that was found, whatever becomes of its name. To be disposed of. */
export class OpenFolder implements AsyncDisposable {
  private constructor(
    private readonly handle: FileHandle,
    private readonly real: string,
    private readonly reach: LookupMode,
  ) {}

  /** `workspace` is a real path. */
  static async workspace(workspace: string, reach: LookupMode): Promise<OpenFolder> {
    return OpenFolder.opened(workspace, workspace, reach);
  }

  private static async opened(reached: string, real: string, reach: LookupMode): Promise<OpenFolder> {
    const folder = new OpenFolder(await open(reached, folderFlags), real, reach);
    try {
      await folder.confirm();
      return folder;
    } catch (error) {
      await folder[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** A path to the folder itself. */
  get self(): string {
    return this.reach === 'descriptor' ? `/proc/self/fd/${this.handle.fd}` : this.real;
  }

  /** A path to what has that name in it. Whoever uses it must not follow a link there. */
  at(name: string): string {
    return `${this.self}/${name}`;
  }

  /** A folder in it. `make`: it is made when it is missing. */
  async folder(name: string, make = false): Promise<OpenFolder> {
    if (make) await mkdir(this.at(name)).catch(unlessThere);
    return OpenFolder.opened(this.at(name), path.join(this.real, name), this.reach);
  }

  /** Opens an entry with these flags and, for a new one, this mode. A link is not followed. */
  async open(name: string, flags: number, mode?: number): Promise<FileHandle> {
    const handle = await open(this.at(name), flags | noLinks, mode);
    try {
      await this.confirm();
      if (this.reach === 'path') confirmSame(await handle.stat(), await lstat(this.at(name)));
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  stat(): Promise<Stats> {
    return this.handle.stat();
  }

  /** Brings what was renamed in it to the disk. */
  sync(): Promise<void> {
    return this.handle.sync();
  }

  /** Throws LinkMet when the path by which it is reached leads elsewhere now. A descriptor never does. */
  async confirm(): Promise<void> {
    if (this.reach === 'descriptor') return;
    if ((await realpath(this.real)) !== this.real) throw new LinkMet();
    confirmSame(await this.handle.stat(), await lstat(this.real));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.handle.close();
  }
}

function confirmSame(opened: Stats, found: Stats): void {
  if (opened.ino !== found.ino || opened.dev !== found.dev) throw new LinkMet();
}

function unlessThere(error: unknown): void {
  if (systemCode(error) !== 'EEXIST') throw error;
}
