import { inject, injectable } from 'inversify';
import type { JsonValue } from '../base/json.js';
import { copyPlain, type PlainLimits, specLimits } from '../base/plain.js';
import { type Token, token } from '../base/token.js';

/** How long the JSON text of a payload may be, in UTF-8 bytes. */
export const PayloadBytesMax: Token<number> = token('PayloadBytesMax');

const depthMax = 64;

/** What callers give to be kept in an object: made by a process, its goal or its result. */
@injectable()
export class Payloads {
  private readonly limits: PlainLimits;
  /** Of a spec that has a payload in it, beside what else it says. */
  readonly specLimits: PlainLimits;

  constructor(@inject(PayloadBytesMax) bytesMax: number) {
    this.limits = { bytesMax, depthMax };
    this.specLimits = { ...specLimits, bytesMax: specLimits.bytesMax + bytesMax };
  }

  /** `value` as plain data within the limits. Throws INVALID_INPUT. */
  copied(value: unknown, path: string): JsonValue {
    return copyPlain(value, path, this.limits);
  }
}
