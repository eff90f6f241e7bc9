import { closeSync, mkdirSync, mkdtempSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inject, injectable } from 'inversify';
import { brokenCharacter, wholeCharacters } from '../../base/characters.js';
import { type Token, token } from '../../base/token.js';
import type { CommandResult } from '../../kernel/command/command.js';
import type { OutputPaths } from '../../kernel/command/command-output.js';

/** Beside the database; null for one in memory, whose output is as short-lived as itself. */
export const OutputFolder: Token<{ readonly path: string | null }> = token('OutputFolder');

/** What is shown of a file. */
export interface Excerpt {
  readonly text: string;
  readonly truncated: boolean;
}

/** Of the beginning, and as much again of the end. */
const excerptBytes = 16 * 1024;

/** The files that commands write to, for their owner only. Commands have them as descriptors: output outlives the kernel. */
@injectable()
export class OutputFiles implements OutputPaths {
  private hasFolder = false;
  private temporaryFolder: string | undefined;

  constructor(@inject(OutputFolder) private readonly folder: { readonly path: string | null }) {}

  of(process: number): { readonly outputFile: string; readonly errorFile: string } {
    const file = path.join(this.folderPath(), String(process));
    return { outputFile: `${file}.out`, errorFile: `${file}.err` };
  }

  /** Empty files for a new process; whoever asks closes them. */
  open(process: number): { readonly out: number; readonly err: number } {
    if (!this.hasFolder) mkdirSync(this.folderPath(), { mode: 0o700, recursive: true });
    this.hasFolder = true;
    const { outputFile, errorFile } = this.of(process);
    return { out: openEmpty(outputFile), err: openEmpty(errorFile) };
  }

  size(file: string): number {
    return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Up to `length` bytes; none of a file that is not there. */
  read(file: string, offset: number, length: number): Buffer {
    const bytes = Buffer.alloc(Math.max(0, Math.min(length, this.size(file) - offset)));
    if (bytes.length === 0) return bytes;
    const descriptor = openSync(file, 'r');
    try {
      return bytes.subarray(0, readSync(descriptor, bytes, 0, bytes.length, offset));
    } finally {
      closeSync(descriptor);
    }
  }

  /** The whole text, or the head and the tail of it, each cut at a character. */
  private excerpt(file: string): Excerpt {
    const size = this.size(file);
    if (size <= 2 * excerptBytes) return { text: this.read(file, 0, size).toString(), truncated: false };
    const first = this.read(file, 0, excerptBytes);
    const last = this.read(file, size - excerptBytes, excerptBytes);
    const head = first.subarray(0, wholeCharacters(first));
    const tail = last.subarray(brokenCharacter(last));
    const left = size - head.length - tail.length;
    return { text: `${head.toString()}\n[… ${left} bytes …]\n${tail.toString()}`, truncated: true };
  }

  /** How much a process has written. */
  bytesWritten(process: number): number {
    const { outputFile, errorFile } = this.of(process);
    return this.size(outputFile) + this.size(errorFile);
  }

  /** What a result shows of it. */
  toResultFields(process: number): Pick<CommandResult, 'stdout' | 'stderr' | 'truncated' | 'outputFile' | 'errorFile'> {
    const { outputFile, errorFile } = this.of(process);
    const [stdout, stderr] = [this.excerpt(outputFile), this.excerpt(errorFile)];
    const truncated = stdout.truncated || stderr.truncated;
    return { stdout: stdout.text, stderr: stderr.text, truncated, outputFile, errorFile };
  }

  remove(processes: readonly number[]): void {
    for (const process of processes) for (const file of Object.values(this.of(process))) rmSync(file, { force: true });
  }

  close(): void {
    if (this.temporaryFolder !== undefined) rmSync(this.temporaryFolder, { recursive: true, force: true });
  }

  private folderPath(): string {
    if (this.folder.path !== null) return this.folder.path;
    this.temporaryFolder ??= mkdtempSync(path.join(tmpdir(), 'procura-output-'));
    return this.temporaryFolder;
  }
}

/** One that is there is of a database that this one is a copy of: what it holds is not this command's. */
function openEmpty(file: string): number {
  try {
    return openSync(file, 'ax', 0o600);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    rmSync(file);
    return openSync(file, 'ax', 0o600);
  }
}
