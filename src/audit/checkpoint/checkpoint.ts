import { createPublicKey, hash, verify } from 'node:crypto';
import { z } from 'zod';
import type { Hash } from '../../base/json.js';
import { canonicalJson } from '../../base/json.js';

/** A signed statement: this log had this many records and this root at this time. */
export interface Checkpoint {
  /** The id of the log. */
  readonly log: string;
  /** The number of records that the log had. */
  readonly size: number;
  /** The root of the Merkle tree over these records. */
  readonly root: Hash;
  /** When it was signed, in milliseconds since 1970. */
  readonly at: number;
  /** The id of the public key: its SHA-256. */
  readonly key: string;
  /** The key had not signed this log before, and others had: as of a further node, or after a key was lost. */
  readonly replaced?: true;
  /** Ed25519, as lower-case hex. */
  readonly signature: string;
}

const hexHash = z.string().regex(/^[0-9a-f]{64}$/, 'is not a SHA-256 in lower-case hex');

export const checkpointSchema = z.strictObject({
  log: z.string().min(1).max(256),
  size: z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER),
  root: hexHash,
  at: z.number().int(),
  key: hexHash,
  replaced: z.literal(true).exactOptional(),
  signature: z.string().regex(/^[0-9a-f]{128}$/, 'is not an Ed25519 signature in lower-case hex'),
});

/** The signed bytes: the RFC 8785 text of everything but the signature. */
export function signedBytes(checkpoint: Omit<Checkpoint, 'signature'>): Buffer {
  const { log, size, root, at, key, replaced } = checkpoint;
  return Buffer.from(canonicalJson({ log, size, root, at, key, ...(replaced === true ? { replaced } : {}) }));
}

export function keyIdOf(publicKey: string): string {
  return hash('sha256', publicKey, 'hex');
}

/** Whether `publicKey` is the key that the checkpoint names and the signature is its signature. */
export function isSignedBy(checkpoint: Checkpoint, publicKey: string): boolean {
  if (keyIdOf(publicKey) !== checkpoint.key || !checkpointSchema.safeParse(checkpoint).success) return false;
  try {
    const key = publicKey.startsWith('-----')
      ? createPublicKey(publicKey)
      : createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
    return verify(null, signedBytes(checkpoint), key, Buffer.from(checkpoint.signature, 'hex'));
  } catch {
    // The text is not a public key.
    return false;
  }
}
