import { createHmac } from 'node:crypto';
import { inject, injectable } from 'inversify';
import { Entropy } from '../../base/entropy.js';
import { canonicalJson } from '../../base/json.js';
import type { Environment } from '../../kernel/command/command.js';

const keyBytes = 32;

/**
 * Commits to environments on record: equal ones have the same commitment as long as the kernel is open. The key is in the
 * memory of the kernel only, so that nobody can guess a value and check the guess by the record.
 */
@injectable()
export class EnvironmentCommitments {
  private key: Buffer | undefined;

  constructor(@inject(Entropy) private readonly entropy: Entropy) {}

  commitmentOf(env: Environment): string {
    this.key ??= Buffer.from(this.entropy.bytes(keyBytes));
    return createHmac('sha256', this.key).update(canonicalJson(env)).digest('hex');
  }
}
