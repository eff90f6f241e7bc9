import type { Hash } from '../../base/json.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { AuditRepository } from '../audit-repository.js';
import { foldComplete, foldSubtrees, type LeafRange, type Subtree, subtreesOf } from './merkle-tree.js';

/*
 * Only every eighth level of the tree's inner nodes is stored: one row for 256 records, and any other node is computed
 * with at most 255 hashes.
 */
const tileLevels = 8;
export const tileLeaves = 2 ** tileLevels;
const storedLevelMax = 24;
export const storedLevels = [8, 16, 24] as const;

/**
 * Stores the subtrees that a range of new leaves completes. The records of the leaves must be inserted already. `hashes`: those of
 * the leaves from the begin of the first tile that they are in, where they are known: then they are not read.
 */
export async function storeCompletedSubtrees(
  tx: WriteTx,
  repository: AuditRepository,
  { from, to }: LeafRange,
  hashes?: readonly Hash[],
): Promise<void> {
  const firstTile = Math.floor(from / tileLeaves);
  for (const level of storedLevels) {
    const leaves = 2 ** level;
    for (let index = Math.floor(from / leaves); (index + 1) * leaves <= to; index++) {
      const at = (index - firstTile) * tileLeaves;
      const known = level === tileLevels ? hashes?.slice(at, at + tileLeaves) : undefined;
      const below = known ?? (await nodesBelow(tx, repository, level - tileLevels, index * tileLeaves, tileLeaves));
      await repository.insertNode(tx, { level, index }, foldComplete(below));
    }
  }
}

/** The hash of a range of leaves, for a root or a proof. */
export async function rangeHash(tx: ReadTx, repository: AuditRepository, range: LeafRange): Promise<Hash> {
  const hashes: Hash[] = [];
  for (const subtree of subtreesOf(range)) hashes.push(await subtreeHash(tx, repository, subtree));
  return foldSubtrees(hashes);
}

export function rootAt(tx: ReadTx, repository: AuditRepository, size: number): Promise<Hash> {
  return rangeHash(tx, repository, { from: 0, to: size });
}

export async function subtreeHash(tx: ReadTx, repository: AuditRepository, { level, index }: Subtree): Promise<Hash> {
  const stored = Math.min(storedLevelMax, level - (level % tileLevels));
  const count = 2 ** (level - stored);
  return foldComplete(await nodesBelow(tx, repository, stored, index * count, count));
}

function nodesBelow(
  tx: ReadTx,
  repository: AuditRepository,
  level: number,
  from: number,
  count: number,
): Promise<Hash[]> {
  return level === 0
    ? repository.hashes(tx, from + 1, from + count)
    : repository.nodes(tx, level, from, from + count - 1);
}
