import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readSync,
  realpathSync,
  rmSync,
  statSync,
  unlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inject, injectable } from 'inversify';
import { brokenCharacter, wholeCharacters } from '../../base/characters.js';
import { type Token, token } from '../../base/token.js';
import type { CommandResult } from '../../kernel/command/command.js';
import type { OutputPaths } from '../../kernel/command/command-ports.js';
import { KernelFiles } from '../../kernel/workspace/kernel-files.js';
import { type CommandMarks, tetherName } from '../../runtime/os/command-marks.js';

/** The folder of the output files. */
export interface OutputFolder {
  /** Null for a temporary folder. */
  readonly path: string | null;
  /** The folder that is read when there is none at `path`. */
  readonly oldPath?: string;
}
export const OutputFolder: Token<OutputFolder> = token('OutputFolder');

/** A file as a result shows it. */
export interface Excerpt {
  readonly text: string;
  readonly truncated: boolean;
}

/** Open files for a command that starts. */
export interface CommandDescriptors {
  readonly out: number;
  readonly err: number;
  /** A file that has no name any more; what holds it open is a process of the command. */
  readonly tether: number;
}

/** A pipe that a command writes to, and the file that this is copied to. */
export interface CopiedStream {
  readonly pipe: string;
  readonly file: string;
}

/** Programs of Node.js close lower ones for the programs that they start, and shells redirect the lowest. */
const tetherDescriptorMin = 17;

/** The size of the shown head, and of the shown tail. */
const excerptBytes = 16 * 1024;

/** The files that commands write to, readable by their owner only. Commands hold them as descriptors, so that output survives the kernel. */
@injectable()
export class OutputFiles implements OutputPaths {
  private hasFolder = false;
  private temporaryFolder: string | undefined;
  private realPath: string | undefined;

  constructor(
    @inject(OutputFolder) private readonly folder: OutputFolder,
    @inject(KernelFiles) private readonly kernelFiles: KernelFiles,
  ) {}

  of(rowNumber: number): { readonly outputFile: string; readonly errorFile: string } {
    const file = path.join(this.folderPath(), String(rowNumber));
    return { outputFile: `${file}.out`, errorFile: `${file}.err` };
  }

  /** Opens empty files for a new process. The caller closes them. */
  open(rowNumber: number, token: string): CommandDescriptors {
    this.makeFolder();
    const { outputFile, errorFile } = this.of(rowNumber);
    return { out: openEmpty(outputFile), err: openEmpty(errorFile), tether: this.openTether(token) };
  }

  /** As `open`, with the writing ends of the pipes of the process in place of its files; `readers` are the other ends. */
  openPipes(rowNumber: number, token: string): CommandDescriptors & { readonly readers: readonly number[] } {
    for (const { file } of this.streamsOf(rowNumber)) closeSync(openEmpty(file));
    const [outPipe, errPipe] = this.pipesOf(rowNumber);
    // With a reader, opening for writing does not wait.
    const readers = [outPipe, errPipe].map((pipe) => openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK));
    const [out, err] = [openSync(outPipe, constants.O_WRONLY), openSync(errPipe, constants.O_WRONLY)];
    return { out, err, tether: this.openTether(token), readers };
  }

  /** The pipes of a process whose output is copied. Their folder exists. */
  pipesOf(rowNumber: number): readonly [out: string, err: string] {
    const file = path.join(this.realFolder(), String(rowNumber));
    return [`${file}.out.pipe`, `${file}.err.pipe`];
  }

  streamsOf(rowNumber: number): CopiedStream[] {
    const { outputFile, errorFile } = this.of(rowNumber);
    const [outPipe, errPipe] = this.pipesOf(rowNumber);
    return [
      { pipe: outPipe, file: outputFile },
      { pipe: errPipe, file: errorFile },
    ];
  }

  /** The marks by which the processes of a command are recognized. */
  marksOf(rowNumber: number, token: string): CommandMarks {
    const file = path.join(this.realFolder(), String(rowNumber));
    return { token, files: [`${file}.out`, `${file}.err`, ...this.pipesOf(rowNumber)] };
  }

  /** The folder as the system names it in the descriptors of processes. */
  realFolder(): string {
    try {
      this.makeFolder();
      this.realPath ??= realpathSync.native(this.folderPath());
      return this.realPath;
    } catch {
      // There is no such folder and none can be made: no process has a file in it.
      return this.folderPath();
    }
  }

  size(file: string): number {
    return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Up to `length` bytes; none if the file does not exist. */
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

  /** The whole text, or its head and its tail, each cut between characters. */
  private excerpt(file: string): Excerpt {
    const size = this.size(file);
    if (size <= 2 * excerptBytes) return { text: this.read(file, 0, size).toString(), truncated: false };
    const first = this.read(file, 0, excerptBytes);
    const last = this.read(file, size - excerptBytes, excerptBytes);
    const head = first.subarray(0, wholeCharacters(first));
    const tail = last.subarray(brokenCharacter(last));
    const omitted = size - head.length - tail.length;
    return { text: `${head.toString()}\n[… ${omitted} bytes …]\n${tail.toString()}`, truncated: true };
  }

  /** The size of both files. */
  bytesWritten(rowNumber: number): number {
    const { outputFile, errorFile } = this.of(rowNumber);
    return this.size(outputFile) + this.size(errorFile);
  }

  /** The output as the result of a command shows it. */
  toResultFields(
    rowNumber: number,
  ): Pick<CommandResult, 'stdout' | 'stderr' | 'truncated' | 'outputFile' | 'errorFile'> {
    const { outputFile, errorFile } = this.of(rowNumber);
    const [stdout, stderr] = [this.excerpt(outputFile), this.excerpt(errorFile)];
    const truncated = stdout.truncated || stderr.truncated;
    return { stdout: stdout.text, stderr: stderr.text, truncated, outputFile, errorFile };
  }

  remove(rowNumbers: readonly number[]): void {
    for (const rowNumber of rowNumbers)
      for (const file of [...Object.values(this.of(rowNumber)), ...this.pipesOf(rowNumber)])
        rmSync(file, { force: true });
  }

  close(): void {
    if (this.temporaryFolder !== undefined) rmSync(this.temporaryFolder, { recursive: true, force: true });
  }

  private openTether(token: string): number {
    const file = path.join(this.folderPath(), tetherName(token));
    let descriptor = openSync(file, constants.O_RDONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    const tooLow: number[] = [];
    while (descriptor < tetherDescriptorMin) {
      tooLow.push(descriptor);
      descriptor = openSync(file, constants.O_RDONLY);
    }
    for (const each of tooLow) closeSync(each);
    unlinkSync(file);
    return descriptor;
  }

  private makeFolder(): void {
    if (!this.hasFolder) mkdirSync(this.folderPath(), { mode: 0o700, recursive: true });
    this.hasFolder = true;
  }

  private folderPath(): string {
    const { path: folder, oldPath } = this.folder;
    if (folder !== null) return oldPath !== undefined && !existsSync(folder) ? oldPath : folder;
    this.temporaryFolder ??= this.makeTemporaryFolder();
    return this.temporaryFolder;
  }

  private makeTemporaryFolder(): string {
    const folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'procura-output-')));
    this.kernelFiles.add(folder);
    return folder;
  }
}

/** A file that exists already belongs to a database that this one is a copy of, and is replaced. */
function openEmpty(file: string): number {
  try {
    return openSync(file, 'ax', 0o600);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    rmSync(file);
    return openSync(file, 'ax', 0o600);
  }
}
