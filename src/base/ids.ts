import { V7Generator } from 'uuidv7';
import type { Clock } from './clock.js';
import type { Entropy } from './entropy.js';
import { type Token, token } from './token.js';

type Id<Kind extends string> = string & { readonly kind?: Kind };

export type Pid = Id<'process'>;
export type ObjectId = Id<'object'>;
export type CapabilityId = Id<'capability'>;
export type RuleId = Id<'rule'>;
export type ReservationId = Id<'reservation'>;
export type NodeId = Id<'node'>;

export type IdKind = 'process' | 'object' | 'capability' | 'rule' | 'reservation' | 'record' | 'node' | 'log';

/** Gives every new thing its name. Names must sort by time: random keys halve the speed of the store. */
export interface IdSource {
  next(kind: IdKind): string;
}
export const IdSource: Token<IdSource> = token('IdSource');

const prefixes: Record<IdKind, string> = {
  process: 'p_',
  object: 'o_',
  capability: 'c_',
  rule: 'u_',
  reservation: 'r_',
  record: 'a_',
  node: 'n_',
  log: 'l_',
};

/**
 * The time and the counter of a UUIDv7 with 10 of its random bits, in 20 letters and digits behind one for the kind:
 * unique everywhere, in order of time within a kernel, and short, since ids are most of what a process leaves behind.
 */
export class TimeOrderedIds implements IdSource {
  private readonly generator: V7Generator;

  constructor(
    private readonly clock: Clock,
    entropy: Entropy,
  ) {
    this.generator = new V7Generator({ nextUint32: () => entropy.bytes(4).readUInt32BE() });
  }

  next(kind: IdKind): string {
    return prefixes[kind] + shortened(this.generator.generateOrResetWithTs(this.clock.now()).toHex());
  }
}

/** Crockford's alphabet: in the order of their codes, and without letters that look like digits. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const pairs = Array.from({ length: 1024 }, (_, bits) => `${alphabet.charAt(bits >> 5)}${alphabet.charAt(bits & 31)}`);

/** 48 bits of time, the 12 after the version digit, and the 40 after the variant bits. */
function shortened(hex: string): string {
  const high = hex.slice(0, 12) + hex.slice(13, 16);
  const low = Math.floor(Number.parseInt(hex.slice(16, 27), 16) / 4) % 2 ** 40;
  return [
    Number.parseInt(high.slice(0, 5), 16),
    Number.parseInt(high.slice(5, 10), 16),
    Number.parseInt(high.slice(10, 15), 16),
    Math.floor(low / 2 ** 20),
    low % 2 ** 20,
  ]
    .map((bits) => `${pairs[bits >> 10]}${pairs[bits & 1023]}`)
    .join('');
}
