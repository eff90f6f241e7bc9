import { V7Generator } from 'uuidv7';
import type { Clock } from './clock.js';
import type { Entropy } from './entropy.js';
import { type Token, token } from './token.js';

type Id<Kind extends string> = string & { readonly kind?: Kind };

export type Pid = Id<'process'>;
export type ObjectId = Id<'object'>;
export type CapabilityId = Id<'capability'>;
export type ReservationId = Id<'reservation'>;
export type NodeId = Id<'node'>;

export type IdKind = 'process' | 'object' | 'capability' | 'reservation' | 'record' | 'node' | 'log';

/** Gives every new thing its name. Names must sort by time: random keys halve the speed of the store. */
export interface IdSource {
  next(kind: IdKind): string;
}
export const IdSource: Token<IdSource> = token('IdSource');

const prefixes: Record<IdKind, string> = {
  process: 'p_',
  object: 'o_',
  capability: 'c_',
  reservation: 'r_',
  record: 'a_',
  node: 'n_',
  log: 'l_',
};

/** UUIDv7 behind a letter for the kind: unique everywhere, in order of time within a kernel. */
export class TimeOrderedIds implements IdSource {
  private readonly generator: V7Generator;

  constructor(
    private readonly clock: Clock,
    entropy: Entropy,
  ) {
    this.generator = new V7Generator({ nextUint32: () => entropy.bytes(4).readUInt32BE() });
  }

  next(kind: IdKind): string {
    return prefixes[kind] + this.generator.generateOrResetWithTs(this.clock.now()).toHex();
  }
}
