import { inject, injectable } from 'inversify';
import { Store, type StoreReader } from '../../base/store.js';
import { auditBroken } from '../audit-errors.js';
import { AuditRepository } from '../audit-repository.js';
import type { Checkpoint } from '../checkpoint/checkpoint.js';
import { type FoundCheckpoint, publishedCheckpoints, storedCheckpoints } from '../checkpoint/checkpoint-feed.js';
import { CheckpointSink } from '../checkpoint/checkpoint-sink.js';
import { LogWalk } from './log-walk.js';
import type { VerifyReport } from './verify-report.js';

export interface VerifyOptions {
  /** The first record to verify; the stored hashes of earlier records are trusted. */
  readonly from?: number;
  /** A checkpoint that the caller has kept. */
  readonly checkpoint?: Checkpoint;
}

/** Recomputes the log from its rows and compares it with all checkpoints. */
@injectable()
export class AuditVerifier {
  constructor(
    @inject(Store) private readonly store: StoreReader,
    @inject(AuditRepository) private readonly repository: AuditRepository,
    @inject(CheckpointSink) private readonly sink: CheckpointSink,
  ) {}

  /** Reads in short units; records that are appended meanwhile are not verified. */
  async verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    const walk = await LogWalk.begin(this.store, this.repository, options.from ?? 1);
    const keys = new Map(walk.start.keys.map(({ id, publicKey }) => [id, publicKey]));
    const feeds: AsyncIterable<FoundCheckpoint>[] = [
      storedCheckpoints(this.store, this.repository, walk.start.from - 1),
      publishedCheckpoints(this.sink, walk.start.log, walk.start.from - 1),
    ];
    if (options.checkpoint !== undefined) feeds.push(callersCheckpoint(options.checkpoint, keys));
    return walk.run(feeds);
  }

  /**
   * Verifies the records after the last checkpoint in the database, and that the log reaches up to it. Throws
   * AUDIT_BROKEN. The sink is not compared: with durability `normal` a power failure may leave it ahead of the log.
   */
  async verifyTail(): Promise<void> {
    const last = await this.store.read((tx) => this.repository.lastCheckpoint(tx));
    const walk = await LogWalk.begin(this.store, this.repository, (last?.size ?? 0) + 1);
    const { firstBad } = await walk.run([storedCheckpoints(this.store, this.repository, walk.start.from - 1)]);
    if (firstBad !== undefined) throw auditBroken(firstBad);
  }
}

async function* callersCheckpoint(
  checkpoint: Checkpoint,
  keys: ReadonlyMap<string, string>,
): AsyncIterable<FoundCheckpoint> {
  yield { checkpoint, publicKey: keys.get(checkpoint.key), source: 'the one that was given' };
}
