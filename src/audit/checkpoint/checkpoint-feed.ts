import type { Hash } from '../../base/json.js';
import type { StoreReader } from '../../base/store.js';
import type { AuditRepository } from '../audit-repository.js';
import type { Fault } from '../verify/verify-report.js';
import { type Checkpoint, checkpointSchema, isSignedBy } from './checkpoint.js';
import type { CheckpointSink } from './checkpoint-sink.js';

/** A checkpoint to verify, with its public key if that is known. */
export interface FoundCheckpoint {
  readonly checkpoint: Checkpoint;
  readonly publicKey: string | undefined;
  /** The place where it was found, for the report. */
  readonly source: string;
}

/** Checks a checkpoint against the id of the log and its root at the checkpoint's size. */
export function checkpointFault(found: FoundCheckpoint, log: string | undefined, root: Hash): Fault | undefined {
  const { checkpoint, source } = found;
  const { size } = checkpoint;
  if (!isGenuine(found)) return badSignature(size, source);
  if (checkpoint.log !== log) return otherLog(size, source);
  if (checkpoint.root === root) return undefined;
  return { seq: size, kind: 'FORKED', detail: `The log had another root at ${size} when ${source} was signed.` };
}

export function isGenuine({ checkpoint, publicKey }: FoundCheckpoint): boolean {
  return publicKey !== undefined && isSignedBy(checkpoint, publicKey);
}

export function badSignature(size: number, source: string): Fault {
  return { seq: size, kind: 'BAD_SIGNATURE', detail: `The checkpoint at ${size} (${source}) has no valid signature.` };
}

export function otherLog(seq: number, source: string): Fault {
  return { seq, kind: 'FORKED', detail: `A checkpoint (${source}) is of another log.` };
}

const pageRows = 500;
const afterAnyKey = '~';

/**
 * The checkpoints in the database, of `fromSize` and above; with 0, also those with a negative size. Their keys are
 * read with them: another program may sign for the first time while the log is verified.
 */
export async function* storedCheckpoints(
  store: StoreReader,
  repository: AuditRepository,
  fromSize: number,
): AsyncIterable<FoundCheckpoint> {
  let after = { size: fromSize === 0 ? Number.MIN_SAFE_INTEGER : fromSize - 1, key: afterAnyKey };
  for (;;) {
    const { page, keys } = await store.read(async (tx) => ({
      page: await repository.checkpointsAfter(tx, after, pageRows),
      keys: await repository.keys(tx),
    }));
    for (const checkpoint of page) {
      const publicKey = keys.find(({ id }) => id === checkpoint.key)?.publicKey;
      yield { checkpoint, publicKey, source: 'a row of the database' };
      after = { size: checkpoint.size, key: checkpoint.key };
    }
    if (page.length < pageRows) return;
  }
}

/**
 * The checkpoints of this log in the sink, of `fromSize` and above. Those of another log are skipped, because a file
 * outlives the database beside it. A line that cannot be read counts as a checkpoint without a valid signature.
 */
export async function* publishedCheckpoints(
  sink: CheckpointSink,
  log: string | undefined,
  fromSize: number,
): AsyncIterable<FoundCheckpoint> {
  for await (const line of sink.list()) {
    const parsed = publishedSchema.safeParse(line);
    if (!parsed.success) {
      yield { checkpoint: unreadable, publicKey: undefined, source: 'a line outside the database' };
    } else if (parsed.data.log === log && parsed.data.size >= fromSize) {
      const { publicKey, ...checkpoint } = parsed.data;
      yield { checkpoint, publicKey, source: 'a line outside the database' };
    }
  }
}

const publishedSchema = checkpointSchema.extend({ publicKey: checkpointSchema.shape.log.max(4096) });
const unreadable: Checkpoint = { log: '', size: 0, root: '', at: 0, key: '', signature: '' };
