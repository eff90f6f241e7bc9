import { hash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MerkleFrontier } from '../../src/audit/merkle/merkle-frontier.js';
import { verifyConsistency, verifyInclusion } from '../../src/audit/merkle/merkle-proof.js';
import {
  consistencyRanges,
  emptyRoot,
  inclusionRanges,
  type LeafRange,
  nodeHash,
} from '../../src/audit/merkle/merkle-tree.js';
import type { Hash } from '../../src/base/json.js';

/** The leaves and roots that Certificate Transparency's own implementations are tested with. */
const ctLeaves = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'];
const ctRoots = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];
const ctHashes = ctLeaves.map((leaf) => hash('sha256', Buffer.from(`00${leaf}`, 'hex'), 'hex'));

describe('the tree of Certificate Transparency', () => {
  it('has the published roots at every size', () => {
    expect(ctRoots.map((_, size) => frontierOf(ctHashes.slice(0, size)).root())).toEqual(ctRoots);
  });

  it('gives the published inclusion path of leaf 6 of 8', () => {
    expect(inclusionRanges(5, 8).map((range) => rootByDefinition(ctHashes, range))).toEqual([
      'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
      'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    ]);
  });

  it('gives the published consistency proof from 6 to 8', () => {
    expect(consistencyRanges(6, 8).map((range) => rootByDefinition(ctHashes, range))).toEqual([
      '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
      'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    ]);
  });
});

const leaves = Array.from({ length: 600 }, (_, n) => hash('sha256', `leaf ${n}`, 'hex'));
const size = fc.integer({ min: 1, max: leaves.length });
const sizeAndIndex = size.chain((n) => fc.tuple(fc.constant(n), fc.integer({ min: 0, max: n - 1 })));
const twoSizes = fc.tuple(size, size).map(([a, b]): [number, number] => (a < b ? [a, b] : [b, a]));

describe('a tree of any size', () => {
  it('has the root that the definition gives', () => {
    fc.assert(
      fc.property(size, (n) => {
        expect(frontierOf(leaves.slice(0, n)).root()).toBe(rootByDefinition(leaves, { from: 0, to: n }));
      }),
    );
  });

  it('reports each subtree that a leaf completes, with its hash', () => {
    const found: [string, Hash][] = [];
    const frontier = new MerkleFrontier();
    for (const leaf of leaves)
      frontier.add(leaf, 8, ({ level, index }, node) => found.push([`${level}/${index}`, node]));
    expect(found).toEqual([
      ['8/0', rootByDefinition(leaves, { from: 0, to: 256 })],
      ['8/1', rootByDefinition(leaves, { from: 256, to: 512 })],
      ['9/0', rootByDefinition(leaves, { from: 0, to: 512 })],
    ]);
  });

  it('proves every leaf with no more hashes than the tree is high', () => {
    fc.assert(
      fc.property(sizeAndIndex, ([n, index]) => {
        const proof = proveInclusion(index, n);
        expect(proof.path.length).toBeLessThanOrEqual(Math.ceil(Math.log2(n)));
        expect(verifyInclusion(proof, proof)).toBe(true);
      }),
    );
  });

  it('refuses an inclusion proof for another leaf, place, size, root or path', () => {
    fc.assert(
      fc.property(sizeAndIndex, fc.nat(), ([n, index], pick) => {
        const proof = proveInclusion(index, n);
        const trusted = { size: n, root: proof.root };
        expect(verifyInclusion({ ...proof, hash: other }, trusted)).toBe(false);
        expect(verifyInclusion({ ...proof, seq: (proof.seq % n) + 1 }, trusted)).toBe(n === 1);
        expect(verifyInclusion(proof, { ...trusted, size: n + 1 })).toBe(false);
        expect(verifyInclusion(proof, { ...trusted, root: other })).toBe(false);
        expect(verifyInclusion({ ...proof, path: [...proof.path, other] }, trusted)).toBe(false);
        if (n === 1) return;
        expect(verifyInclusion({ ...proof, path: proof.path.slice(1) }, trusted)).toBe(false);
        expect(verifyInclusion({ ...proof, path: proof.path.with(pick % proof.path.length, other) }, trusted)).toBe(
          false,
        );
      }),
    );
  });

  it('proves that it begins with each of its earlier sizes', () => {
    fc.assert(
      fc.property(twoSizes, ([a, b]) => {
        const proof = proveConsistency(a, b);
        expect(verifyConsistency(proof, proof.firstRoot, proof.secondRoot)).toBe(true);
      }),
    );
  });

  it('refuses a consistency proof for other roots, sizes or another path', () => {
    fc.assert(
      fc.property(twoSizes, fc.nat(), ([a, b], pick) => {
        const proof = proveConsistency(a, b);
        const { firstRoot, secondRoot, path } = proof;
        expect(verifyConsistency(proof, other, secondRoot)).toBe(false);
        expect(verifyConsistency(proof, firstRoot, other)).toBe(false);
        expect(verifyConsistency({ ...proof, path: [...path, other] }, firstRoot, secondRoot)).toBe(false);
        expect(verifyConsistency({ ...proof, first: b, second: a }, firstRoot, secondRoot)).toBe(a === b);
        if (path.length === 0) return;
        expect(verifyConsistency({ ...proof, path: path.slice(1) }, firstRoot, secondRoot)).toBe(false);
        const changed = path.with(pick % path.length, other);
        expect(verifyConsistency({ ...proof, path: changed }, firstRoot, secondRoot)).toBe(false);
      }),
    );
  });

  it('is consistent with the empty tree, and with no other root of size 0', () => {
    const proof = { ...proveConsistency(1, 5), first: 0, path: [] };
    expect(verifyConsistency(proof, emptyRoot, proof.secondRoot)).toBe(true);
    expect(verifyConsistency(proof, other, proof.secondRoot)).toBe(false);
  });

  it('refuses proofs whose hashes are not hashes', () => {
    const proof = proveInclusion(2, 5);
    expect(verifyInclusion({ ...proof, path: proof.path.map((node) => node.toUpperCase()) }, proof)).toBe(false);
    expect(verifyInclusion({ ...proof, hash: 'zz' }, proof)).toBe(false);
  });
});

const other = hash('sha256', 'something else', 'hex');

function proveInclusion(index: number, n: number) {
  const path = inclusionRanges(index, n).map((range) => rootByDefinition(leaves, range));
  return {
    log: 'l',
    seq: index + 1,
    hash: leaves[index] ?? '',
    size: n,
    root: rootByDefinition(leaves, { from: 0, to: n }),
    path,
  };
}

function proveConsistency(first: number, second: number) {
  const path = consistencyRanges(first, second).map((range) => rootByDefinition(leaves, range));
  const [firstRoot, secondRoot] = [first, second].map((to) => rootByDefinition(leaves, { from: 0, to }));
  return { log: 'l', first, second, firstRoot: firstRoot ?? '', secondRoot: secondRoot ?? '', path };
}

function frontierOf(hashes: readonly Hash[]): MerkleFrontier {
  const frontier = new MerkleFrontier();
  for (const leaf of hashes) frontier.add(leaf);
  return frontier;
}

/** RFC 9162, 2.1.1, word for word. */
function rootByDefinition(hashes: readonly Hash[], { from, to }: LeafRange): Hash {
  if (to - from === 0) return emptyRoot;
  if (to - from === 1) return hashes[from] ?? '';
  let k = 1;
  while (k * 2 < to - from) k *= 2;
  return nodeHash(rootByDefinition(hashes, { from, to: from + k }), rootByDefinition(hashes, { from: from + k, to }));
}
