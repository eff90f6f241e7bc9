import { readdirSync, type Stats, statSync } from 'node:fs';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { injectable } from 'inversify';

/** Where the files of a kernel lie: its database, the files that SQLite keeps beside it, and its state folder. */
export interface KernelFileNames {
  /** Absolute paths of files and folders, whether they exist or not. All that lies below one belongs to the kernel as well. */
  readonly names: readonly string[];
  /** Absolute paths of folders whose files are compared one by one with a file that has several names. */
  readonly folders: readonly string[];
}

type Identity = Pick<Stats, 'dev' | 'ino'>;

/**
 * The files of the kernel itself, which no built-in tool opens and no process works in. They are known by their path, and by
 * device and inode, so that a link, another name or a moved folder does not give access to them.
 */
@injectable()
export class KernelFiles {
  private readonly names = new Set<string>();
  /** The names as they are compared. */
  private readonly foldedNames = new Set<string>();
  private readonly listings: FolderListing[];
  /** The files that had these names when the kernel was opened; they stay the kernel's after a rename. */
  private remembered = new Set<string>();

  private presentIdentities: ReadonlySet<string> = new Set();
  private presentAt = Number.NEGATIVE_INFINITY;

  constructor({ names, folders }: KernelFileNames) {
    for (const name of names) this.addName(name);
    this.listings = folders.map((folder) => new FolderListing(folder));
  }

  /** Adds a folder that was made while the kernel runs. */
  add(folder: string): void {
    this.addName(folder);
    this.listings.push(new FolderListing(folder));
    this.remember();
  }

  /** Remembers the files that exist now. */
  remember(): void {
    this.remembered = new Set([...this.remembered, ...this.currentIdentities()]);
  }

  /** Whether an absolute path is, or lies below, one of the names. Looks at the text only. */
  covers(file: string): boolean {
    if (this.names.size === 0) return false;
    const folded = foldName(file);
    for (const name of this.foldedNames) if (folded === name || folded.startsWith(`${name}${path.sep}`)) return true;
    return false;
  }

  /** Whether an open file or folder is one of the kernel's, whatever its name. Looks at the disk. */
  includes(stats: Stats): boolean {
    if (this.names.size === 0) return false;
    const identity = identityOf(stats);
    if (this.remembered.has(identity) || this.present().has(identity)) return true;
    // A file in a folder of the kernel that lies elsewhere too has at least two names.
    return stats.isFile() && stats.nlink > 1 && this.listings.some((listing) => listing.has(identity));
  }

  /** Whether a folder, an absolute real path, or one above it up to `top`, belongs to the kernel. Looks at the disk. */
  includesFolder(folder: string, top: string): boolean {
    if (this.names.size === 0) return false;
    if (this.covers(folder)) return true;
    for (let current = folder; current !== top; current = path.dirname(current)) {
      const stats = statSync(current, { throwIfNoEntry: false });
      if (stats !== undefined && this.includes(stats)) return true;
      if (current === path.dirname(current)) return false;
    }
    return false;
  }

  /** The files that have the names now, read at most once in a few milliseconds: listing a large folder asks for each entry. */
  private present(): ReadonlySet<string> {
    const now = performance.now();
    if (now - this.presentAt > presentMs) {
      this.presentIdentities = new Set(this.currentIdentities());
      this.presentAt = now;
    }
    return this.presentIdentities;
  }

  private addName(name: string): void {
    this.names.add(name);
    this.foldedNames.add(foldName(name));
  }

  private *currentIdentities(): Iterable<string> {
    for (const name of this.names) {
      const stats = statIfPresent(name);
      if (stats !== undefined) yield identityOf(stats);
    }
    for (const listing of this.listings) yield* listing.mainIdentities();
  }
}

export const noKernelFiles = new KernelFiles({ names: [], folders: [] });

/** The files in a folder of the kernel and in the folders below it, by identity. Read again when the folder has changed. */
class FolderListing {
  private readonly files = new Map<string, string>();
  private readonly inner = new Map<string, FolderListing>();
  private changedAt = Number.NaN;

  constructor(private readonly folder: string) {}

  has(identity: string): boolean {
    this.update();
    for (const file of this.files.values()) if (file === identity) return true;
    for (const listing of this.inner.values()) if (listing.has(identity)) return true;
    return false;
  }

  /** Of what a state folder holds directly, as it is now. */
  *mainIdentities(): Iterable<string> {
    for (const name of innerNames) {
      const stats = statIfPresent(path.join(this.folder, name));
      if (stats !== undefined) yield identityOf(stats);
    }
  }

  /** Looks only at names that are new: the kernel gives no name to two files in turn. */
  private update(): void {
    const stats = statIfPresent(this.folder);
    if (stats?.isDirectory() !== true) {
      this.files.clear();
      this.inner.clear();
      return;
    }
    if (stats.mtimeMs === this.changedAt) return;
    const names = new Set(readdirSync(this.folder));
    for (const name of [...this.files.keys(), ...this.inner.keys()]) {
      if (names.has(name)) continue;
      this.files.delete(name);
      this.inner.delete(name);
    }
    for (const name of names) if (!this.files.has(name) && !this.inner.has(name)) this.addEntry(name);
    // A change in the same tick of the file system's clock would not show.
    this.changedAt = Date.now() - stats.mtimeMs > clockTickMs ? stats.mtimeMs : Number.NaN;
  }

  private addEntry(name: string): void {
    const file = path.join(this.folder, name);
    const stats = statIfPresent(file);
    if (stats?.isDirectory()) this.inner.set(name, new FolderListing(file));
    else if (stats !== undefined) this.files.set(name, identityOf(stats));
  }
}

const presentMs = 5;
const clockTickMs = 2_000;
const innerNames = ['key', 'checkpoints', 'output'];

function identityOf({ dev, ino }: Identity): string {
  return `${dev}:${ino}`;
}

/** Undefined also for what cannot be looked at. */
function statIfPresent(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false });
  } catch {
    // A folder above it cannot be read, or a file stands where a folder should be.
    return undefined;
  }
}

/** Names are compared without case and in one normal form, as some volumes do. */
function foldName(file: string): string {
  return file.normalize('NFC').toUpperCase().toLowerCase();
}
