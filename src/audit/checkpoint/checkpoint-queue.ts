import type { Hash } from '../../base/json.js';
import type { MerkleFrontier } from '../merkle/merkle-frontier.js';
import type { Fault } from '../verify/verify-report.js';
import { signedBytes } from './checkpoint.js';
import { badSignature, checkpointFault, type FoundCheckpoint, isGenuine, otherLog } from './checkpoint-feed.js';

/** Checkpoints from several sources, each checked when the walk has reached its size. */
export class CheckpointQueue {
  private readonly lanes: { readonly feed: AsyncIterator<FoundCheckpoint>; head?: FoundCheckpoint | undefined }[];
  private isOpen = false;
  private lastValid = '';

  /** `rootAt` reads the root at a size that the walk has passed already. */
  constructor(
    private readonly log: string | undefined,
    feeds: readonly AsyncIterable<FoundCheckpoint>[],
    private readonly rootAt: (size: number) => Promise<Hash>,
  ) {
    this.lanes = feeds.map((feed) => ({ feed: feed[Symbol.asyncIterator]() }));
  }

  /** Checks every checkpoint up to the size that the walk has reached. Returns the size of the next one, or a fault. */
  async checkUpTo(reached: MerkleFrontier): Promise<number | Fault> {
    await this.open();
    for (const lane of this.lanes) {
      while (lane.head !== undefined && lane.head.checkpoint.size <= reached.size) {
        const { size } = lane.head.checkpoint;
        const root = size === reached.size ? reached.root() : await this.rootAt(size);
        const fault = this.check(lane.head, root);
        if (fault !== undefined) return fault;
        lane.head = await advance(lane.feed);
      }
    }
    return Math.min(...this.lanes.map(({ head }) => head?.checkpoint.size ?? Number.POSITIVE_INFINITY));
  }

  /**
   * Finds a checkpoint of a size that the log no longer has. `sizeNow` reads the current size, because checkpoints that
   * were signed during the walk are no fault.
   */
  async findTruncation(sizeNow: () => Promise<number>): Promise<Fault | undefined> {
    for (const lane of this.lanes) {
      for (; lane.head !== undefined; lane.head = await advance(lane.feed)) {
        const { checkpoint, source } = lane.head;
        if (!isGenuine(lane.head)) return badSignature(checkpoint.size, source);
        const size = await sizeNow();
        if (checkpoint.log !== this.log) return otherLog(size + 1, source);
        if (checkpoint.size <= size) continue;
        const detail = `The log has ${size} records and had ${checkpoint.size} when ${source} was signed.`;
        return { seq: size + 1, kind: 'TRUNCATED', detail };
      }
    }
    return undefined;
  }

  async close(): Promise<void> {
    for (const { feed } of this.lanes) await feed.return?.();
  }

  /** Checks a signature once, although both the database and the sink have the checkpoint. */
  private check(found: FoundCheckpoint, root: Hash): Fault | undefined {
    const { checkpoint, publicKey } = found;
    const content = `${signedBytes(checkpoint)}${checkpoint.signature}${publicKey}${root}`;
    if (content === this.lastValid) return undefined;
    const fault = checkpointFault(found, this.log, root);
    if (fault === undefined) this.lastValid = content;
    return fault;
  }

  private async open(): Promise<void> {
    if (this.isOpen) return;
    this.isOpen = true;
    for (const lane of this.lanes) lane.head = await advance(lane.feed);
  }
}

async function advance(feed: AsyncIterator<FoundCheckpoint>): Promise<FoundCheckpoint | undefined> {
  const { done, value } = await feed.next();
  return done === true ? undefined : value;
}
