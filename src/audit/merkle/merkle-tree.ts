import { hash } from 'node:crypto';
import type { Hash } from '../../base/json.js';

/*
 * The RFC 9162 tree as arithmetic on leaf numbers: which ranges of leaves a root or a proof is made of. Leaves count
 * from 0. Numbers may pass 2^31, so halving is division and never a shift.
 */

/** The root of a tree without leaves. */
export const emptyRoot: Hash = hash('sha256', '', 'hex');

/** Leaves from `from` up to, but not including, `to`. */
export interface LeafRange {
  readonly from: number;
  readonly to: number;
}

/** A complete subtree: 2^level leaves, the index-th of its level. */
export interface Subtree {
  readonly level: number;
  readonly index: number;
}

/** The sibling ranges of leaf `index` in a tree of `size`, lowest first: PATH(m, D_n). */
export function inclusionRanges(index: number, size: number): LeafRange[] {
  const path: LeafRange[] = [];
  let from = 0;
  let to = size;
  while (to - from > 1) {
    const middle = from + splitPoint(to - from);
    if (index < middle) {
      path.push({ from: middle, to });
      to = middle;
    } else {
      path.push({ from, to: middle });
      from = middle;
    }
  }
  return path.reverse();
}

/** The ranges that lead from the tree of `first` leaves to that of `second`: PROOF(m, D_n). */
export function consistencyRanges(first: number, second: number): LeafRange[] {
  if (first === 0) return [];
  const path: LeafRange[] = [];
  let from = 0;
  let to = second;
  let whole = true;
  while (to > first) {
    const middle = from + splitPoint(to - from);
    if (first <= middle) {
      path.push({ from: middle, to });
      to = middle;
    } else {
      path.push({ from, to: middle });
      from = middle;
      whole = false;
    }
  }
  if (!whole) path.push({ from, to });
  return path.reverse();
}

/**
 * The complete subtrees of a range, left to right. `from` must be a multiple of the number of leaves of the first one.
 */
export function subtreesOf(range: LeafRange): Subtree[] {
  const subtrees: Subtree[] = [];
  for (let from = range.from; from < range.to; ) {
    let level = 0;
    while (2 ** (level + 1) <= range.to - from) level++;
    subtrees.push({ level, index: from / 2 ** level });
    from += 2 ** level;
  }
  return subtrees;
}

/** The hash of subtrees of decreasing height, given from left to right. */
export function foldSubtrees(hashes: readonly Hash[]): Hash {
  const last = hashes.at(-1);
  if (last === undefined) return emptyRoot;
  return hashes.slice(0, -1).reduceRight((right, left) => nodeHash(left, right), last);
}

/** The hash of the 2^n nodes of one complete subtree. */
export function foldComplete(nodes: readonly Hash[]): Hash {
  let row = nodes;
  while (row.length > 1) {
    const above: Hash[] = [];
    for (let index = 0; index + 1 < row.length; index += 2)
      above.push(nodeHash(row[index] ?? '', row[index + 1] ?? ''));
    row = above;
  }
  return row[0] ?? emptyRoot;
}

const pair = Buffer.alloc(65, 1);

/** The hash of an inner node of the tree. */
export function nodeHash(left: Hash, right: Hash): Hash {
  pair.write(left, 1, 32, 'hex');
  pair.write(right, 33, 32, 'hex');
  return hash('sha256', pair, 'hex');
}

/** The largest power of two below `leaves`. */
function splitPoint(leaves: number): number {
  let power = 1;
  while (power * 2 < leaves) power *= 2;
  return power;
}
