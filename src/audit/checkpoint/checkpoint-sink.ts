import { type Token, token } from '../../base/token.js';
import type { Checkpoint } from './checkpoint.js';

/** A checkpoint with the key to check it, so that it stands for itself outside the database. */
export interface PublishedCheckpoint extends Checkpoint {
  readonly publicKey: string;
}

/** Where checkpoints go besides the database: who rewrites the log would have to rewrite this too. */
export interface CheckpointSink {
  /** Resolves when the checkpoint is kept. */
  append(checkpoint: PublishedCheckpoint): Promise<void>;
  /** Everything that was kept, oldest first; `verify` looks at what it is. */
  list(): AsyncIterable<unknown>;
}
export const CheckpointSink: Token<CheckpointSink> = token('CheckpointSink');

/** Keeps nothing, for databases that leave nothing behind either. */
export const noCheckpointSink: CheckpointSink = {
  append: async () => undefined,
  list: async function* () {
    yield* [];
  },
};
