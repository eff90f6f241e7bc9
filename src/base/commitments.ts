import { createHmac } from 'node:crypto';
import { inject, injectable } from 'inversify';
import { Entropy } from './entropy.js';
import { canonicalJson, type Hash, type JsonValue } from './json.js';

const keyBytes = 32;

/**
 * Commits to values that are not shown on record: equal ones have the same commitment as long as the kernel is open. The key is in
 * the memory of the kernel only, so that nobody can guess a value and check the guess by the record.
 */
@injectable()
export class Commitments {
  private readonly key: Uint8Array;

  constructor(@inject(Entropy) entropy: Entropy) {
    this.key = entropy.bytes(keyBytes);
  }

  /** The hash of a value as records have it: itself where they show the whole value, otherwise a commitment to it. */
  hashOnRecord(hash: string, isShown: boolean): string {
    return isShown ? hash : this.of(hash);
  }

  of(value: JsonValue): Hash {
    return createHmac('sha256', this.key).update(canonicalJson(value)).digest('hex') as Hash;
  }
}
