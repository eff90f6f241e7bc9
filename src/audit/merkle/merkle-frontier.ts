import type { Hash } from '../../base/json.js';
import { foldSubtrees, nodeHash, type Subtree } from './merkle-tree.js';

/** The right edge of a growing tree, one hash per level: enough to add leaves and to compute the root. */
export class MerkleFrontier {
  private readonly edge: { level: number; hash: Hash }[];
  private leafCount: number;

  /** Starts after the leaves of `subtrees`, which are given from left to right. */
  constructor(subtrees: readonly (Subtree & { readonly hash: Hash })[] = []) {
    this.edge = subtrees.map(({ level, hash }) => ({ level, hash }));
    this.leafCount = subtrees.reduce((sum, { level }) => sum + 2 ** level, 0);
  }

  get size(): number {
    return this.leafCount;
  }

  /** Adds a leaf; calls `onCompleted` for every subtree of at least `fromLevel` that it completes. */
  add(
    leaf: Hash,
    fromLevel = Number.POSITIVE_INFINITY,
    onCompleted: (node: Subtree, hash: Hash) => void = () => undefined,
  ) {
    this.leafCount++;
    let level = 0;
    let hash = leaf;
    for (let last = this.edge.at(-1); last?.level === level; last = this.edge.at(-1)) {
      this.edge.pop();
      hash = nodeHash(last.hash, hash);
      level++;
      if (level >= fromLevel) onCompleted({ level, index: this.leafCount / 2 ** level - 1 }, hash);
    }
    this.edge.push({ level, hash });
  }

  root(): Hash {
    return foldSubtrees(this.edge.map(({ hash }) => hash));
  }
}
