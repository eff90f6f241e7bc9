import { createHash, createPublicKey, hash, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { AuditEntry } from '../../src/audit/audit-entry.js';
import { type Checkpoint, isSignedBy, keyIdOf, signedBytes } from '../../src/audit/checkpoint/checkpoint.js';
import { Ed25519Signer } from '../../src/audit/checkpoint/ed25519-signer.js';
import { MerkleFrontier } from '../../src/audit/merkle/merkle-frontier.js';
import { encodeEntry, headerHash, headerText, zeroHash } from '../../src/audit/writing/record-encoding.js';
import type { Hash } from '../../src/base/json.js';
import { canonicalJson } from '../../src/base/json.js';

interface VectorRecord {
  readonly seq: number;
  readonly id: string;
  readonly node: string;
  readonly entry: AuditEntry;
  readonly payload?: { readonly salt: string; readonly bytes: string };
  readonly body: string;
  readonly header: string;
  readonly hash: Hash;
  readonly rootAfter: Hash;
}

/** Published: who writes another verifier can check it with this file alone. */
const vectors = JSON.parse(readFileSync(new URL('./vectors.json', import.meta.url), 'utf8')) as {
  readonly log: string;
  readonly records: readonly VectorRecord[];
  readonly key: { readonly seed: string; readonly publicKey: string };
  readonly signed: string;
  readonly checkpoint: Checkpoint;
};

it('the vectors follow from the definitions alone', () => {
  let prev = '0'.repeat(64);
  for (const { seq, body, header, hash: own, payload, entry, id, node } of vectors.records) {
    const members = JSON.parse(body);
    expect(body).toBe(canonicalJson(members));
    expect(members).toMatchObject({ id, node, action: entry.action, outcome: entry.outcome });
    expect(JSON.parse(header)).toEqual({ log: vectors.log, seq, prev, body: sha256([2], body) });
    expect(header).toBe(canonicalJson(JSON.parse(header)));
    expect(own).toBe(sha256([0], header));
    const commitment = payload && sha256([3, ...Buffer.from(payload.salt, 'hex')], payload.bytes);
    expect(members.commitment).toBe(commitment);
    prev = own;
  }
  const { publicKey } = vectors.key;
  const { signature, ...content } = vectors.checkpoint;
  expect(vectors.signed).toBe(canonicalJson({ ...content }));
  expect(content.key).toBe(hash('sha256', publicKey, 'hex'));
  const key = createPublicKey({ key: Buffer.from(publicKey, 'base64'), format: 'der', type: 'spki' });
  expect(verify(null, Buffer.from(vectors.signed), key, Buffer.from(signature, 'hex'))).toBe(true);
});

it('the kernel writes the vectors', () => {
  const tree = new MerkleFrontier();
  let prev = zeroHash;
  for (const { seq, id, node, entry, payload, ...expected } of vectors.records) {
    const encoded = encodeEntry(id, node, entry, () => Buffer.from(payload?.salt ?? '', 'hex'));
    const header = headerText(encoded.bodyHash, JSON.stringify(vectors.log), prev, seq);
    prev = headerHash(header);
    tree.add(prev);
    expect({ body: encoded.body, header, hash: prev, rootAfter: tree.root() }).toEqual(expected);
    expect(encoded.payload?.bytes).toBe(payload?.bytes);
  }
  expect(tree.root()).toBe(vectors.checkpoint.root);
});

it('the kernel signs and accepts the checkpoint of the vectors, and no other', () => {
  const signer = Ed25519Signer.fromSeed(Buffer.from(vectors.key.seed, 'hex'));
  const { signature, ...content } = vectors.checkpoint;
  expect(signer.publicKey()).toBe(vectors.key.publicKey);
  expect(keyIdOf(signer.publicKey())).toBe(content.key);
  expect(signer.sign(signedBytes(content)).toString('hex')).toBe(signature);
  expect(isSignedBy(vectors.checkpoint, vectors.key.publicKey)).toBe(true);
  expect(isSignedBy({ ...vectors.checkpoint, size: 4 }, vectors.key.publicKey)).toBe(false);
});

function sha256(prefix: readonly number[], text: string): Hash {
  return createHash('sha256').update(Buffer.from(prefix)).update(text).digest('hex');
}
