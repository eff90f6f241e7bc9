import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import type { Signer } from './signer.js';

/** Signs with a private key that is kept in memory. */
export class Ed25519Signer implements Signer {
  private readonly spki: string;

  constructor(private readonly privateKey: KeyObject) {
    this.spki = createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).toString('base64');
  }

  /** Creates the signer from 32 bytes: the same bytes give the same key. */
  static fromSeed(seed: Buffer): Ed25519Signer {
    return new Ed25519Signer(ed25519PrivateKey(seed));
  }

  publicKey(): string {
    return this.spki;
  }

  sign(bytes: Uint8Array): Buffer {
    return sign(null, bytes, this.privateKey);
  }
}

export const ed25519SeedBytes = 32;

/** The bytes before the 32 bytes of an Ed25519 key in PKCS #8 (RFC 8410). */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');

export function ed25519PrivateKey(seed: Buffer): KeyObject {
  return createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: 'der', type: 'pkcs8' });
}
