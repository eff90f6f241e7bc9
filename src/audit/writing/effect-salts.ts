import type { Entropy } from '../../base/entropy.js';
import type { NewAuditEntry } from '../audit-entry.js';
import { freshSalt } from './record-encoding.js';

const effectsMax = 10_000;

/**
 * One salt for the intent and the outcome of an effect, so that equal payloads have equal commitments. Remembered in
 * this node only, and for the newest effects: an outcome that recovery writes elsewhere has a salt of its own.
 */
export class EffectSalts {
  private readonly open = new Map<string, Buffer>();

  constructor(private readonly entropy: Entropy) {}

  of({ effectId, outcome }: NewAuditEntry): Buffer {
    if (effectId === undefined) return freshSalt(this.entropy);
    const salt = this.open.get(effectId) ?? freshSalt(this.entropy);
    if (outcome === 'intent') this.remember(effectId, salt);
    else this.open.delete(effectId);
    return salt;
  }

  private remember(effectId: string, salt: Buffer): void {
    const oldest = this.open.size < effectsMax ? undefined : this.open.keys().next().value;
    if (oldest !== undefined) this.open.delete(oldest);
    this.open.set(effectId, salt);
  }
}
