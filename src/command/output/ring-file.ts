import { type FileHandle, open } from 'node:fs/promises';
import type { Readable } from 'node:stream';

/** The most bytes that the file has. */
const bytesMax = 4 * 1024 * 1024;
/** The newest bytes that stay when the file is full. */
const bytesKept = 2 * 1024 * 1024;

/**
 * Writes what a stream yields to a file that exists, and drops the oldest bytes when the file is full. The stream is read to its
 * end also when the file cannot be written. Never throws.
 */
export async function writeRing(source: Readable, file: string): Promise<void> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file, 'r+');
    const ring = new RingFile(handle);
    for await (const chunk of source) await ring.append(chunk as Buffer);
  } catch {
    // A program must not be held up because what it says cannot be kept.
    source.on('error', () => undefined).resume();
  } finally {
    await handle?.close().catch(() => undefined);
  }
}

class RingFile {
  private size = 0;
  private dropped = 0;

  constructor(private readonly handle: FileHandle) {}

  async append(chunk: Buffer): Promise<void> {
    if (this.size + chunk.length > bytesMax) await this.dropOldest();
    await this.write(chunk);
  }

  private async dropOldest(): Promise<void> {
    const kept = Buffer.alloc(Math.min(bytesKept, this.size));
    const { bytesRead } = await this.handle.read(kept, 0, kept.length, this.size - kept.length);
    this.dropped += this.size - bytesRead;
    this.size = 0;
    await this.write(Buffer.from(`[… ${this.dropped} bytes …]\n`));
    await this.write(kept.subarray(0, bytesRead));
    await this.handle.truncate(this.size);
  }

  private async write(bytes: Buffer): Promise<void> {
    await this.handle.write(bytes, 0, bytes.length, this.size);
    this.size += bytes.length;
  }
}
