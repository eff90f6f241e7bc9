import { inject, injectable } from 'inversify';
import { invalidInput } from '../../base/errors.js';
import type { Hash } from '../../base/json.js';
import { type ReadTx, Store } from '../../base/store.js';
import { noSuchRecord } from '../audit-errors.js';
import { AuditRepository } from '../audit-repository.js';
import type { ConsistencyProof, InclusionProof } from './merkle-proof.js';
import { consistencyRanges, inclusionRanges, type LeafRange } from './merkle-tree.js';
import { rangeHash, rootAt } from './tiles.js';

/** Builds proofs from the stored tree; a proof has one hash per level of the tree. */
@injectable()
export class AuditProofs {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(AuditRepository) private readonly repository: AuditRepository,
  ) {}

  /**
   * Proves a record in the log of `size`. Default: the size of the newest checkpoint that covers the record, or of the
   * whole log when there is none. Throws NO_SUCH_RECORD, INVALID_INPUT.
   */
  async inclusion(seq: number, size?: number): Promise<InclusionProof> {
    return this.store.read(async (tx) => {
      const record = await this.repository.find(tx, seq);
      if (record === undefined) throw noSuchRecord(seq);
      const head = (await this.repository.head(tx))?.seq ?? 0;
      const treeSize = size ?? (await this.signedSize(tx, seq, head));
      if (treeSize < seq || treeSize > head) throw outOfRange('size', treeSize, seq, head);
      return {
        log: (await this.repository.logId(tx)) ?? '',
        seq,
        hash: record.hash,
        size: treeSize,
        root: await rootAt(tx, this.repository, treeSize),
        path: await this.hashes(tx, inclusionRanges(seq - 1, treeSize)),
      };
    });
  }

  /** Throws INVALID_INPUT for sizes that the log has not reached, and when `first` is larger than `second`. */
  async consistency(first: number, second: number): Promise<ConsistencyProof> {
    return this.store.read(async (tx) => {
      const head = (await this.repository.head(tx))?.seq ?? 0;
      if (second > head) throw outOfRange('b', second, 0, head);
      if (first > second) throw outOfRange('a', first, 0, second);
      return {
        log: (await this.repository.logId(tx)) ?? '',
        first,
        second,
        firstRoot: await rootAt(tx, this.repository, first),
        secondRoot: await rootAt(tx, this.repository, second),
        path: await this.hashes(tx, consistencyRanges(first, second)),
      };
    });
  }

  private async signedSize(tx: ReadTx, seq: number, head: number): Promise<number> {
    const last = await this.repository.lastCheckpoint(tx);
    return last !== undefined && last.size >= seq && last.size <= head ? last.size : head;
  }

  private async hashes(tx: ReadTx, ranges: readonly LeafRange[]): Promise<Hash[]> {
    const path: Hash[] = [];
    for (const range of ranges) path.push(await rangeHash(tx, this.repository, range));
    return path;
  }
}

function outOfRange(path: string, asked: number, least: number, most: number) {
  return invalidInput(path, `${asked} is not between ${least} and ${most}`, 'Give a size that the log has reached.', {
    asked,
    least,
    most,
  });
}
