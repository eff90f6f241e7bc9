import { type Token, token } from '../../base/token.js';

/** Holds the private key that checkpoints are signed with. */
export interface Signer {
  /** The Ed25519 public key, as base64 SPKI or as PEM. The SHA-256 of this text is its id in checkpoints. */
  publicKey(): string;
  /** The signature of `bytes`. The kernel verifies it and throws SIGNER_FAILED if it does not fit the public key. */
  sign(bytes: Uint8Array): Uint8Array | Promise<Uint8Array>;
}
export const Signer: Token<Signer> = token('Signer');
