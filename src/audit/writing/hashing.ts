import { hash } from 'node:crypto';

/** SHA-256 as 64 lower-case hex digits. */
export type Hash = string;

/** `prev` of the first record. */
export const zeroHash: Hash = '0'.repeat(64);

/** The root of a tree without leaves, as RFC 9162 has it. */
export const emptyRoot: Hash = hash('sha256', '', 'hex');

/** The record's own hash: link of the chain and leaf of the tree. */
export function headerHash(header: string): Hash {
  return hash('sha256', `\x00${header}`, 'hex');
}

export function bodyHash(body: string): Hash {
  return hash('sha256', `\x02${body}`, 'hex');
}

/** Binds a payload to its record; without the salt nobody can try out what the payload may have been. */
export function commitmentOf(salt: Uint8Array, payload: string): Hash {
  const room = 1 + salt.length + payload.length * 3;
  const bytes = room <= scratch.length ? scratch : Buffer.allocUnsafe(room);
  bytes[0] = 3;
  bytes.set(salt, 1);
  const end = 1 + salt.length + bytes.write(payload, 1 + salt.length);
  return hash('sha256', bytes.subarray(0, end), 'hex');
}

const scratch = Buffer.alloc(8192);
const pair = Buffer.alloc(65, 1);

/** An interior node of the tree. */
export function nodeHash(left: Hash, right: Hash): Hash {
  pair.write(left, 1, 32, 'hex');
  pair.write(right, 33, 32, 'hex');
  return hash('sha256', pair, 'hex');
}
