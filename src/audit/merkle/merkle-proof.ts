import type { Hash } from '../../base/json.js';
import { emptyRoot, nodeHash } from './merkle-tree.js';

/** Proves that a record is in the log of a given size and root. */
export interface InclusionProof {
  /** The id of the log. */
  readonly log: string;
  /** The number of the record. */
  readonly seq: number;
  /** The record's own hash. */
  readonly hash: Hash;
  /** The number of records of the log that the proof is about. */
  readonly size: number;
  /** The root of that log. */
  readonly root: Hash;
  /** The hashes of the siblings on the path from the record to the root, lowest first. */
  readonly path: readonly Hash[];
}

/** Proves that the log of size `second` begins with the whole log of size `first`. */
export interface ConsistencyProof {
  /** The id of the log. */
  readonly log: string;
  /** The smaller number of records. */
  readonly first: number;
  /** The larger number of records. */
  readonly second: number;
  /** The root of the log with `first` records. */
  readonly firstRoot: Hash;
  /** The root of the log with `second` records. */
  readonly secondRoot: Hash;
  /** The hashes from which both roots are computed. */
  readonly path: readonly Hash[];
}

/**
 * Checks an inclusion proof against a root that the caller trusts, such as a signed checkpoint's (RFC 9162, 2.1.3.2).
 *
 * @example verifyInclusion(await kernel.audit.prove(7), checkpoint)
 */
export function verifyInclusion(
  proof: InclusionProof,
  trusted: { readonly size: number; readonly root: Hash },
): boolean {
  const { seq, size, path } = proof;
  if (size !== trusted.size || !Number.isSafeInteger(seq) || seq < 1 || seq > size || !path.every(isHash)) return false;
  if (!isHash(proof.hash)) return false;
  let node = seq - 1;
  let last = size - 1;
  let hash = proof.hash;
  for (const sibling of path) {
    if (last === 0) return false;
    if (isOdd(node) || node === last) {
      hash = nodeHash(sibling, hash);
      while (!isOdd(node) && node !== 0) [node, last] = [half(node), half(last)];
    } else {
      hash = nodeHash(hash, sibling);
    }
    [node, last] = [half(node), half(last)];
  }
  return last === 0 && hash === trusted.root;
}

/**
 * Checks a consistency proof against two roots that the caller trusts (RFC 9162, 2.1.4.2).
 *
 * @example verifyConsistency(await kernel.audit.proveConsistency(old.size, now.size), old.root, now.root)
 */
export function verifyConsistency(proof: ConsistencyProof, firstRoot: Hash, secondRoot: Hash): boolean {
  const { first, second, path } = proof;
  if (!Number.isSafeInteger(first) || !Number.isSafeInteger(second) || first < 0 || first > second) return false;
  if (!path.every(isHash)) return false;
  if (first === 0) return path.length === 0 && firstRoot === emptyRoot && (second > 0 || secondRoot === emptyRoot);
  if (first === second) return path.length === 0 && firstRoot === secondRoot;
  let node = first - 1;
  let last = second - 1;
  while (isOdd(node)) [node, last] = [half(node), half(last)];
  const [start, ...rest] = isPowerOfTwo(first) ? [firstRoot, ...path] : path;
  if (start === undefined) return false;
  let older = start;
  let newer = start;
  for (const sibling of rest) {
    if (last === 0) return false;
    if (isOdd(node) || node === last) {
      older = nodeHash(sibling, older);
      newer = nodeHash(sibling, newer);
      while (!isOdd(node) && node !== 0) [node, last] = [half(node), half(last)];
    } else {
      newer = nodeHash(newer, sibling);
    }
    [node, last] = [half(node), half(last)];
  }
  return last === 0 && older === firstRoot && newer === secondRoot;
}

function isHash(text: unknown): text is Hash {
  return typeof text === 'string' && /^[0-9a-f]{64}$/.test(text);
}

function isOdd(value: number): boolean {
  return value % 2 === 1;
}

function isPowerOfTwo(value: number): boolean {
  let rest = value;
  while (rest > 1 && !isOdd(rest)) rest = half(rest);
  return rest === 1;
}

function half(value: number): number {
  return Math.floor(value / 2);
}
