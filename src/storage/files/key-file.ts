import { createPrivateKey, type KeyObject } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { Ed25519Signer, ed25519PrivateKey, ed25519SeedBytes } from '../../audit/checkpoint/ed25519-signer.js';
import type { Signer } from '../../audit/checkpoint/signer.js';
import type { Entropy } from '../../base/entropy.js';
import { AuditError } from '../../base/errors.js';

/** Keeps the private key in a file that only its owner may read; creates it when it is first needed. */
export class KeyFileSigner implements Signer {
  private signer: Ed25519Signer | undefined;

  constructor(
    private readonly path: string,
    private readonly entropy: Entropy,
  ) {}

  publicKey(): string {
    return this.load().publicKey();
  }

  sign(bytes: Uint8Array): Buffer {
    return this.load().sign(bytes);
  }

  /** Throws KEY_UNREADABLE. */
  private load(): Ed25519Signer {
    if (this.signer !== undefined) return this.signer;
    try {
      if (!existsSync(this.path))
        createKey(this.path, ed25519PrivateKey(Buffer.from(this.entropy.bytes(ed25519SeedBytes))));
      this.signer = new Ed25519Signer(readKey(this.path));
    } catch (error) {
      throw new AuditError('KEY_UNREADABLE', `The signing key ${this.path} cannot be used: ${String(error)}`, {
        facts: { path: this.path },
        hint: 'Make the file readable, restore it, or move it away: a new key is made and flagged.',
        cause: error,
      });
    }
    return this.signer;
  }
}

function readKey(path: string): KeyObject {
  const key = createPrivateKey(readFileSync(path));
  if (key.asymmetricKeyType !== 'ed25519') throw new Error(`it holds a key of type ${key.asymmetricKeyType}`);
  return key;
}

/**
 * Writes the key to a draft and links it into place, so that of two programs one creates it and the other finds it
 * complete.
 */
function createKey(path: string, key: KeyObject): void {
  const draft = `${path}.${process.pid}.new`;
  const file = openSync(draft, 'w', 0o600);
  try {
    writeSync(file, key.export({ format: 'pem', type: 'pkcs8' }) as string);
    fsyncSync(file);
    linkSync(draft, path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    closeSync(file);
    rmSync(draft, { force: true });
  }
}
