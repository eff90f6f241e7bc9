import { InputError } from '../../base/errors.js';
import type { Right } from '../../capability/resource/rights.js';
import type { ToolContext } from '../tool.js';
import { systemCode } from './file-errors.js';
import type { FileTarget } from './file-target.js';
import { listNames, statEntry } from './folder-entries.js';
import { type LookupMode, type OpenFolder, openBelow } from './open-folder.js';
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

export interface LineMatch {
  /** Counts from 1. */
  readonly line: number;
  /** The line, or the part of it around what was found. */
  readonly text: string;
}

interface FoundLine extends LineMatch {
  /** Below the folder that is searched; empty for a file that is searched itself. */
  readonly path: string;
}

export interface SearchReport {
  readonly matches: readonly FoundLine[];
  /** How many files were searched. */
  readonly files: number;
  /** How many were not, because they are too large, binary, or cannot be read. */
  readonly skipped: number;
  /** Stopped before all was seen. */
  readonly truncated: boolean;
}

/** Searches a file, or a folder and all below it. No link is followed. What the process may not read is left out. */
export async function searchFiles(
  context: ToolContext,
  target: FileTarget,
  lookupMode: LookupMode,
  query: LineQuery,
): Promise<SearchReport> {
  const search = new FileSearch(context, target, query);
  const { names } = target;
  const name = names.at(-1);
  await using folder = await openBelow(context.workspace, names.slice(0, -1), lookupMode);
  if (name === undefined) await search.searchFolder(folder, []);
  else await search.searchEntry(folder, name, []);
  return search.report();
}

/** One search, and what it may still look at. Names are those from the folder that is searched down. */
class FileSearch {
  private readonly matches: FoundLine[] = [];
  private files = 0;
  private skipped = 0;
  private entries = 0;
  private bytes = 0;
  private chars = 0;
  /** Something was not looked at. */
  private isTruncated = false;

  constructor(
    private readonly context: ToolContext,
    private readonly target: FileTarget,
    private readonly query: LineQuery,
  ) {}

  report(): SearchReport {
    return { matches: this.matches, files: this.files, skipped: this.skipped, truncated: this.isTruncated };
  }

  /** Only the target itself may be refused for what it is; below it, what cannot be looked at is left out. */
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
    const { names, isTruncated: isCut } = await listNames(folder, this.context.signal);
    this.isTruncated ||= isCut;
    for (const name of names) {
      this.context.signal.throwIfAborted();
      if (this.isLimitReached()) return;
      this.entries++;
      const inner = [...below, name];
      try {
        const isFolder = (await statEntry(folder, name))?.isDirectory() ?? false;
        if (await this.isAllowed(isFolder ? ['list', 'read'] : ['read'], inner))
          await this.searchEntry(folder, name, inner);
      } catch (error) {
        this.context.signal.throwIfAborted();
        // Otherwise it has gone, was replaced, or may not be opened by this program.
        if (systemCode(error) === undefined && !(error instanceof InputError)) throw error;
        this.skipped++;
      }
    }
  }

  private async searchFile(folder: OpenFolder, name: string, below: readonly string[]): Promise<void> {
    await using file = await openRegular(folder, name, this.target.shown);
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

  /** Asked only while there is something left to look at. */
  private isLimitReached(): boolean {
    const isSpent = this.files >= filesMax || this.entries >= entriesMax || this.bytes >= bytesMax || this.isFull();
    this.isTruncated ||= isSpent;
    return isSpent;
  }

  private isFull(): boolean {
    return this.matches.length >= matchesMax || this.chars > resultCharsMax;
  }

  /** By the name that was asked for, and by the real one where a link led to the folder: a rule on either is kept. */
  private async isAllowed(rights: readonly Right[], below: readonly string[]): Promise<boolean> {
    const { path, names } = this.target;
    const places = new Set([path, names.join('/') || '.']);
    for (const place of places) {
      for (const right of rights) {
        const resource = `fs:${[place, ...below].join('/')}`;
        const { effect } = await this.context.process.capabilities.check(right, resource);
        if (effect !== 'allow') return false;
      }
    }
    return true;
  }
}

/** The lines that contain the text, at most `max` of them. */
export function findLines(text: string, query: LineQuery, max: number): LineMatch[] {
  const folded = (part: string) => (query.ignoreCase ? part.toLowerCase() : part);
  const wanted = folded(query.pattern);
  // Most files have no such line, and need not be taken apart.
  if (max <= 0 || !folded(text).includes(wanted)) return [];
  const found: LineMatch[] = [];
  for (const [index, line] of text.split(/\r\n|\n|\r/).entries()) {
    const at = folded(line).indexOf(wanted);
    if (at < 0) continue;
    found.push({ line: index + 1, text: excerptOf(line, at) });
    if (found.length >= max) break;
  }
  return found;
}

/** A part of a long line that begins somewhat before what was found. */
function excerptOf(line: string, at: number): string {
  if (line.length <= textCharsMax) return line;
  const from = Math.max(0, Math.min(at - textCharsMax / 4, line.length - textCharsMax));
  return line.slice(from, from + textCharsMax).toWellFormed();
}
