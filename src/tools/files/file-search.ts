import { InputError } from '../../base/errors.js';
import type { Right } from '../../capability/resource/rights.js';
import type { ToolContext } from '../tool.js';
import { KernelFile, systemCode } from './file-errors.js';
import type { FileTarget } from './file-target.js';
import { listNames, statEntry } from './folder-entries.js';
import { type FileAccess, type OpenFolder, openBelow } from './open-folder.js';
import { openRegular } from './regular-file.js';

export const matchesMax = 200;
const filesMax = 10_000;
const entriesMax = 50_000;
const bytesMax = 50_000_000;
const fileBytesMax = 4_000_000;
const depthMax = 32;
const resultCharsMax = 128 * 1024;
const textCharsMax = 240;

/** A text to find within lines. */
export interface LineQuery {
  /** Taken literally. */
  readonly pattern: string;
  readonly ignoreCase: boolean;
}

interface LineMatch {
  /** Counts from 1. */
  readonly line: number;
  /** The line, or the part of it around the match. */
  readonly text: string;
}

interface FoundLine extends LineMatch {
  /** Relative to the searched folder; empty if a single file is searched. */
  readonly path: string;
}

export interface SearchReport {
  readonly matches: readonly FoundLine[];
  /** The number of files that were searched. */
  readonly files: number;
  /** The number of files that were skipped, because they are too large, binary or not readable. */
  readonly skipped: number;
  /** Whether the search stopped before the end. */
  readonly truncated: boolean;
}

/** Searches a file, or a folder and everything below it. Follows no links, and leaves out what the process may not read. */
export async function searchFiles(
  context: ToolContext,
  target: FileTarget,
  access: FileAccess,
  query: LineQuery,
): Promise<SearchReport> {
  const search = new FileSearch(context, target, query);
  const { names } = target;
  const name = names.at(-1);
  await using folder = await openBelow(context.workspace, names.slice(0, -1), access);
  if (name === undefined) await search.searchFolder(folder, []);
  else await search.searchEntry(folder, name, []);
  return search.report();
}

/** One search with its limits. `below` are the names from the searched folder down. */
class FileSearch {
  private readonly matches: FoundLine[] = [];
  private files = 0;
  private skipped = 0;
  private entries = 0;
  private bytes = 0;
  private chars = 0;
  private isTruncated = false;

  constructor(
    private readonly context: ToolContext,
    private readonly target: FileTarget,
    private readonly query: LineQuery,
  ) {}

  report(): SearchReport {
    return { matches: this.matches, files: this.files, skipped: this.skipped, truncated: this.isTruncated };
  }

  /** Throws INVALID_PATH for a target that is no file or folder; such entries below the target are left out. */
  async searchEntry(folder: OpenFolder, name: string, below: readonly string[]): Promise<void> {
    const stats = await statEntry(folder, name);
    if (stats?.isDirectory()) {
      await using inner = await folder.folder(name);
      await this.searchFolder(inner, below);
    } else if (below.length === 0 || stats?.isFile()) {
      await this.searchFile(folder, name, below);
    }
  }

  async searchFolder(folder: OpenFolder, below: readonly string[]): Promise<void> {
    if (below.length >= depthMax) {
      this.isTruncated = true;
      return;
    }
    const { names, isTruncated } = await listNames(folder, this.context.signal);
    this.isTruncated ||= isTruncated;
    // In NFC, as resources are: the file that is decided on is the file that is opened, where the disk has both spellings.
    for (const name of new Set(names.map((name) => name.normalize('NFC')))) {
      this.context.signal.throwIfAborted();
      if (this.isLimitReached()) return;
      this.entries++;
      const inner = [...below, name];
      try {
        const stats = await statEntry(folder, name);
        const isFolder = stats?.isDirectory() ?? false;
        if (stats === undefined) this.skipped++;
        else if (await this.isAllowed(isFolder ? ['list', 'read'] : ['read'], inner))
          await this.searchEntry(folder, name, inner);
      } catch (error) {
        this.context.signal.throwIfAborted();
        if (error instanceof KernelFile) continue;
        // Such an entry was removed or replaced, or this program may not open it.
        if (systemCode(error) === undefined && !(error instanceof InputError)) throw error;
        this.skipped++;
      }
    }
  }

  private async searchFile(folder: OpenFolder, name: string, below: readonly string[]): Promise<void> {
    await using file = await openRegular(folder, name, this.target.inputPath);
    const bytes = file.size > fileBytesMax ? undefined : await file.read(0, file.size);
    this.bytes += bytes?.length ?? 0;
    if (bytes === undefined || bytes.subarray(0, 8_192).includes(0)) {
      this.skipped++;
      return;
    }
    this.files++;
    const path = below.join('/');
    for (const match of findLines(bytes.toString(), this.query, matchesMax - this.matches.length + 1)) {
      if (this.isFull()) {
        this.isTruncated = true;
        return;
      }
      this.matches.push({ path, ...match });
      this.chars += path.length + match.text.length;
    }
  }

  /** Called before the next entry: at a limit, the search is truncated. */
  private isLimitReached(): boolean {
    const isSpent = this.files >= filesMax || this.entries >= entriesMax || this.bytes >= bytesMax || this.isFull();
    this.isTruncated ||= isSpent;
    return isSpent;
  }

  private isFull(): boolean {
    return this.matches.length >= matchesMax || this.chars > resultCharsMax;
  }

  /** Checks the requested path and the real one, which differ if links led to the target: a rule on either counts. */
  private async isAllowed(rights: readonly Right[], below: readonly string[]): Promise<boolean> {
    const { path, names } = this.target;
    const folders = new Set([path, names.join('/') || '.']);
    for (const folder of folders) {
      for (const right of rights) {
        const resource = `fs:${[folder, ...below].join('/')}`;
        const { effect } = await this.context.process.capabilities.check(right, resource);
        if (effect !== 'allow') return false;
      }
    }
    return true;
  }
}

/** The lines that contain the text, at most `max` of them. */
function findLines(text: string, query: LineQuery, max: number): LineMatch[] {
  const fold = (part: string) => (query.ignoreCase ? part.toLowerCase() : part);
  const pattern = fold(query.pattern);
  // Most files have no such line, and need not be split.
  if (max <= 0 || !fold(text).includes(pattern)) return [];
  const matches: LineMatch[] = [];
  for (const [index, line] of text.split(/\r\n|\n|\r/).entries()) {
    const column = fold(line).indexOf(pattern);
    if (column < 0) continue;
    matches.push({ line: index + 1, text: excerptOf(line, column) });
    if (matches.length >= max) break;
  }
  return matches;
}

/** The part of a long line around the match at `column`. */
function excerptOf(line: string, column: number): string {
  if (line.length <= textCharsMax) return line;
  const from = Math.max(0, Math.min(column - textCharsMax / 4, line.length - textCharsMax));
  return line.slice(from, from + textCharsMax).toWellFormed();
}
