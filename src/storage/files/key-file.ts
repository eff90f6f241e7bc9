import { createPrivateKey, type KeyObject } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { Ed25519Signer, ed25519PrivateKey, ed25519SeedBytes } from '../../audit/checkpoint/ed25519-signer.js';
import type { Signer } from '../../audit/checkpoint/signer.js';
import type { Entropy } from '../../base/entropy.js';
import { AuditError } from '../../base/errors.js';

/** Keeps the private key in a file that only its owner may read; makes it when it is needed for the first time. */
export class KeyFileSigner implements Signer {
  private signer: Ed25519Signer | undefined;

  constructor(
    private readonly path: string,
    private readonly entropy: Entropy,
  ) {}

  publicKey(): string {
    return this.loaded().publicKey();
  }

  sign(bytes: Uint8Array): Buffer {
    return this.loaded().sign(bytes);
  }

  /** Throws KEY_UNREADABLE. */
  private loaded(): Ed25519Signer {
    if (this.signer !== undefined) return this.signer;
    try {
      if (!existsSync(this.path)) create(this.path, ed25519PrivateKey(this.entropy.bytes(ed25519SeedBytes)));
      this.signer = new Ed25519Signer(read(this.path));
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

function read(path: string): KeyObject {
  const key = createPrivateKey(readFileSync(path));
  if (key.asymmetricKeyType !== 'ed25519') throw new Error(`it holds a key of type ${key.asymmetricKeyType}`);
  return key;
}

/** Linked into place when it is complete, so that of two programs one makes the key and the other finds it whole. */
function create(path: string, key: KeyObject): void {
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
