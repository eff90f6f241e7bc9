import { createReadStream, existsSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { CheckpointSink, PublishedCheckpoint } from '../../audit/checkpoint/checkpoint-sink.js';
import { StoreError } from '../../base/errors.js';

const newline = 10;

/** Checkpoints as JSON lines in a file. */
export class CheckpointFile implements CheckpointSink {
  /** `oldPath`: the file that is read when there is none at `path`. */
  constructor(
    private readonly path: string,
    private readonly oldPath?: string,
  ) {}

  async append(checkpoint: PublishedCheckpoint): Promise<void> {
    const file = await open(this.path, 'a+', 0o644);
    try {
      await dropTornLine(file);
      await file.appendFile(`${JSON.stringify(checkpoint)}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
  }

  /** Yields the parsed lines; a line that is not JSON comes as its text. Throws STORE_IO. */
  async *list(): AsyncIterable<unknown> {
    const path = this.oldPath !== undefined && !existsSync(this.path) ? this.oldPath : this.path;
    const end = await wholeBytes(path);
    if (end === 0) return;
    const input = createReadStream(path, { encoding: 'utf8', end: end - 1 });
    for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) yield parseLine(line);
  }
}

/** The length of the file without an unfinished last line, which a crash during a write leaves behind. */
async function wholeBytes(path: string): Promise<number> {
  try {
    const file = await open(path, 'r');
    try {
      return await lastLineEnd(file);
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 0;
    throw new StoreError('STORE_IO', `The checkpoint file ${path} cannot be read: ${String(error)}`, {
      facts: { path },
      hint: 'Make the file readable.',
      cause: error,
    });
  }
}

async function dropTornLine(file: FileHandle): Promise<void> {
  const { size } = await file.stat();
  const end = await lastLineEnd(file);
  if (end < size) await file.truncate(end);
}

async function lastLineEnd(file: FileHandle): Promise<number> {
  const block = Buffer.alloc(4096);
  let { size: to } = await file.stat();
  while (to > 0) {
    const from = Math.max(0, to - block.length);
    const { bytesRead } = await file.read(block, 0, to - from, from);
    const index = block.subarray(0, bytesRead).lastIndexOf(newline);
    if (index >= 0) return from + index + 1;
    to = from;
  }
  return 0;
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    // The caller decides on damaged lines.
    return line;
  }
}
