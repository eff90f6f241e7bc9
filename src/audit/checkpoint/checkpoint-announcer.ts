import type { WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import type { Checkpoint } from './checkpoint.js';

/** Told in the transaction of every new checkpoint, to write what has to be written with it. */
export interface CheckpointAnnouncer {
  checkpointed(tx: WriteTx, checkpoint: Checkpoint): void;
}
export const CheckpointAnnouncer: Token<CheckpointAnnouncer> = token('CheckpointAnnouncer');
