import { type Token, token } from '../../base/token.js';
import type { Checkpoint } from './checkpoint.js';

/** A checkpoint with the public key, so that it can be verified without the database. */
export interface PublishedCheckpoint extends Checkpoint {
  /** The key that the signature is verified with. */
  readonly publicKey: string;
}

/** Stores copies of checkpoints outside the database, so that a rewritten database does not go unnoticed. */
export interface CheckpointSink {
  /** Resolves when the checkpoint is stored. */
  append(checkpoint: PublishedCheckpoint): Promise<void>;
  /** All stored checkpoints, oldest first; `verify` parses them. */
  list(): AsyncIterable<unknown>;
}
export const CheckpointSink: Token<CheckpointSink> = token('CheckpointSink');

/** Stores nothing, for databases in memory. */
export const noCheckpointSink: CheckpointSink = {
  append: async () => undefined,
  list: async function* () {
    yield* [];
  },
};
