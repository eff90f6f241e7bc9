import { createHash, randomFillSync } from 'node:crypto';
import { type Token, token } from './token.js';

/** Random bytes for ids, salts, tokens and keys. */
export interface Entropy {
  /** New random bytes. */
  bytes(length: number): Uint8Array;
}
export const Entropy: Token<Entropy> = token('Entropy');

const poolBytes = 4096;

/** Random bytes of the operating system, read in blocks: a system call per id would be slow. */
export class SystemEntropy implements Entropy {
  private readonly pool = Buffer.alloc(poolBytes);
  private used = poolBytes;

  bytes(length: number): Buffer {
    if (length > poolBytes / 4) return randomFillSync(Buffer.alloc(length));
    if (this.used + length > poolBytes) {
      randomFillSync(this.pool);
      this.used = 0;
    }
    this.used += length;
    return Buffer.from(this.pool.subarray(this.used - length, this.used));
  }
}

/** SHA-256 in counter mode: the same seed gives the same bytes in the same order. Not for production keys. */
export class SeededEntropy implements Entropy {
  private counter = 0;
  private pool: Buffer = Buffer.alloc(0);
  private key: string;

  constructor(private readonly seed: string) {
    this.key = seed;
  }

  /** Starts another series of the same seed, so that a store that is opened again does not get the same ids. */
  restart(series: number): void {
    this.key = `${this.seed}\0${series}`;
    this.counter = 0;
    this.pool = Buffer.alloc(0);
  }

  bytes(length: number): Buffer {
    while (this.pool.length < length) {
      const block = createHash('sha256')
        .update(`${this.key}\0${this.counter++}`)
        .digest();
      this.pool = Buffer.concat([this.pool, block]);
    }
    const result = Buffer.from(this.pool.subarray(0, length));
    this.pool = this.pool.subarray(length);
    return result;
  }
}
