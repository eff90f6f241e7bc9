import { V7Generator } from 'uuidv7';
import type { Clock } from './clock.js';
import type { Entropy } from './entropy.js';
import type { JsonValue } from './json.js';
import { type Token, token } from './token.js';

/** A text that remembers what it is the id of. */
type Id<Kind extends string> = string & { readonly kind?: Kind };

/** A method, so that types are compared in both directions: one that is not known fits every other one. */
interface Carrier<Type> {
  carry(value: Type): void;
}

/** Nothing is known about a result that may be any JSON. */
type KnownResult<Result> = JsonValue extends Result ? unknown : Result;

/**
 * The id of a process. `Result` is the type of its result, where that is known: a plain string, or a pid whose result is not
 * known, fits wherever a pid is asked for.
 */
export type Pid<Result = JsonValue> = Id<'process'> & { readonly '~result'?: Carrier<KnownResult<Result>>['carry'] };
/** The id of an object of memory. */
export type ObjectId = Id<'object'>;
/** The id of a capability. */
export type CapabilityId = Id<'capability'>;
/** The id of a rule. */
export type RuleId = Id<'rule'>;
/** The id of an approval. */
export type ApprovalId = Id<'approval'>;
/** The id of a question to a person. */
export type QuestionId = Id<'question'>;
/** The id of a reservation of budget. */
export type ReservationId = Id<'reservation'>;
/** The id of a node: a program that runs processes of a store. */
export type NodeId = Id<'node'>;

/** The things that have ids. */
export type IdKind =
  | 'process'
  | 'object'
  | 'capability'
  | 'rule'
  | 'approval'
  | 'question'
  | 'reservation'
  | 'message'
  | 'effect'
  | 'record'
  | 'node'
  | 'log';

/** Creates ids. They must sort by time: random keys halve the speed of the store. */
export interface IdSource {
  /** A new id. It must differ from every other one of the store. */
  next(kind: IdKind): string;
}
export const IdSource: Token<IdSource> = token('IdSource');

/** The beginning of the ids of each kind of thing. */
export const idPrefixes: Readonly<Record<IdKind, string>> = {
  process: 'p_',
  object: 'o_',
  capability: 'c_',
  rule: 'u_',
  approval: 'v_',
  question: 'q_',
  reservation: 'r_',
  message: 'm_',
  effect: 'e_',
  record: 'a_',
  node: 'n_',
  log: 'l_',
};

/**
 * Ids of 20 letters and digits behind a prefix for the kind: the time, the counter and 10 random bits of a UUIDv7. They
 * are unique everywhere, in order of time within a kernel, and short, since ids are most of the data of a process.
 */
export class TimeOrderedIds implements IdSource {
  private readonly generator: V7Generator;

  constructor(
    private readonly clock: Clock,
    entropy: Entropy,
  ) {
    this.generator = new V7Generator({ nextUint32: () => Buffer.from(entropy.bytes(4)).readUInt32BE() });
  }

  next(kind: IdKind): string {
    return idPrefixes[kind] + toShortText(this.generator.generateOrResetWithTs(this.clock.now()).bytes);
  }
}

/** Crockford's alphabet: in the order of the character codes, and without letters that look like digits. */
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const pairs = Array.from({ length: 1024 }, (_, bits) => `${alphabet.charAt(bits >> 5)}${alphabet.charAt(bits & 31)}`);

/** 48 bits of time, the 12 after the version digit, and the 40 after the variant bits, in groups of 20. */
function toShortText(uuid: Readonly<Uint8Array>): string {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0, i = 0, j = 0, k = 0, l = 0, m = 0, n = 0] = uuid;
  return (
    twentyBits((a << 12) | (b << 4) | (c >> 4)) +
    twentyBits(((c & 15) << 16) | (d << 8) | e) +
    twentyBits((f << 12) | ((g & 15) << 8) | h) +
    twentyBits(((i & 63) << 14) | (j << 6) | (k >> 2)) +
    twentyBits(((k & 3) << 18) | (l << 10) | (m << 2) | (n >> 6))
  );
}

function twentyBits(bits: number): string {
  return `${pairs[bits >> 10]}${pairs[bits & 1023]}`;
}
