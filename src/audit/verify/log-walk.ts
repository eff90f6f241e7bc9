import type { Hash } from '../../base/json.js';
import type { ReadTx, StoreReader } from '../../base/store.js';
import type { AuditKey, AuditRepository, StoredPayload, StoredRecord } from '../audit-repository.js';
import type { FoundCheckpoint } from '../checkpoint/checkpoint-feed.js';
import { CheckpointQueue } from '../checkpoint/checkpoint-queue.js';
import { MerkleFrontier } from '../merkle/merkle-frontier.js';
import { type Subtree, subtreesOf } from '../merkle/merkle-tree.js';
import { rootAt, storedLevels, subtreeHash, tileLeaves } from '../merkle/tiles.js';
import { zeroHash } from '../writing/record-encoding.js';
import { checkLink } from './chain-check.js';
import { PayloadCheck } from './payload-check.js';
import { checkSubject } from './subject-check.js';
import type { Fault, VerifyReport } from './verify-report.js';

const pageRows = 512;

/** The state of the log when the walk began, read in one unit. */
export interface WalkStart {
  readonly log: string | undefined;
  readonly from: number;
  readonly size: number;
  /** The hash of the record before `from`; undefined when that record is missing. */
  readonly prev: Hash | undefined;
  readonly before: readonly (Subtree & { readonly hash: Hash })[];
  readonly keys: readonly AuditKey[];
  /** The least size that the log must have had, according to its other tables. */
  readonly sizeMin: number;
}

interface WalkPage {
  readonly records: readonly StoredRecord[];
  readonly payloads: readonly StoredPayload[];
  readonly nodes: ReadonlyMap<string, Hash>;
  readonly subjects: ReadonlyMap<number, string>;
}

/** Verifies the records in their order, and ends at the first fault. */
export class LogWalk {
  private readonly frontier: MerkleFrontier;
  private readonly payloads = new PayloadCheck();
  private readonly logText: string;
  private prev: Hash;
  private checked = 0;

  private constructor(
    private readonly store: StoreReader,
    private readonly repository: AuditRepository,
    readonly start: WalkStart,
  ) {
    this.frontier = new MerkleFrontier(start.before);
    this.logText = JSON.stringify(start.log ?? '');
    this.prev = start.prev ?? '';
  }

  static async begin(store: StoreReader, repository: AuditRepository, from: number): Promise<LogWalk> {
    return new LogWalk(store, repository, await store.read((tx) => readStart(tx, repository, from)));
  }

  /** `feeds` yield checkpoints of the log, each in ascending order of size. */
  async run(feeds: readonly AsyncIterable<FoundCheckpoint>[]): Promise<VerifyReport> {
    const checkpoints = new CheckpointQueue(this.start.log, feeds, (size) =>
      this.store.read((tx) => rootAt(tx, this.repository, size)),
    );
    try {
      const fault = this.startFault() ?? (await this.walk(checkpoints)) ?? (await this.endFault(checkpoints));
      return this.report(fault);
    } finally {
      await checkpoints.close();
    }
  }

  private async walk(checkpoints: CheckpointQueue): Promise<Fault | undefined> {
    const { from, size } = this.start;
    let nextSize = await checkpoints.checkUpTo(this.frontier);
    if (typeof nextSize === 'object') return nextSize;
    let after = from === 1 ? Number.MIN_SAFE_INTEGER : from - 1;
    while (after < size) {
      const { records, payloads, nodes, subjects } = await this.store.read((tx) => this.readPage(tx, after));
      this.payloads.load(payloads);
      for (const record of records) {
        if (record.seq > size) return undefined;
        const fault = this.checkRecord(record, nodes) ?? checkSubject(record, subjects.get(record.seq));
        if (fault !== undefined) return fault;
        if (this.frontier.size < nextSize) continue;
        nextSize = await checkpoints.checkUpTo(this.frontier);
        if (typeof nextSize === 'object') return nextSize;
      }
      after = records.at(-1)?.seq ?? size;
    }
    return undefined;
  }

  private checkRecord(record: StoredRecord, nodes: ReadonlyMap<string, Hash>): Fault | undefined {
    const position = { log: this.logText, seq: this.frontier.size + 1, prev: this.prev };
    const fault = checkLink(position, record) ?? this.payloads.check(record);
    if (fault !== undefined) return fault;
    this.prev = record.hash;
    this.checked++;
    let wrongSubtree: Subtree | undefined;
    this.frontier.add(record.hash, storedLevels[0], (node, hash) => {
      if (node.level % storedLevels[0] === 0 && nodes.get(nodeKey(node)) !== hash) wrongSubtree = node;
    });
    if (wrongSubtree === undefined) return undefined;
    const detail = `The stored subtree ${wrongSubtree.level}/${wrongSubtree.index} is not that of its records.`;
    return { seq: record.seq, kind: 'EDITED', detail };
  }

  private async readPage(tx: ReadTx, after: number): Promise<WalkPage> {
    const records = await this.repository.recordsAfter(tx, after, pageRows);
    const first = records[0]?.seq ?? 0;
    const last = records.at(-1)?.seq ?? 0;
    return {
      records,
      payloads: await this.repository.payloads(tx, first, last),
      nodes: await this.readStoredNodes(tx, Math.max(1, first), last),
      subjects: await this.repository.subjects(tx, first, last),
    };
  }

  /** The stored subtrees that end within these records. */
  private async readStoredNodes(tx: ReadTx, first: number, last: number): Promise<Map<string, Hash>> {
    const found = new Map<string, Hash>();
    for (const level of storedLevels) {
      const from = Math.ceil(first / 2 ** level) - 1;
      const to = Math.floor(last / 2 ** level) - 1;
      if (to < from || to - from > pageRows) continue;
      const hashes = await this.repository.nodes(tx, level, from, to);
      for (const [at, hash] of hashes.entries()) found.set(nodeKey({ level, index: from + at }), hash);
    }
    return found;
  }

  private startFault(): Fault | undefined {
    const { from, prev } = this.start;
    if (prev !== undefined) return undefined;
    return { seq: from - 1, kind: 'MISSING', detail: `Record ${from - 1} is not there.` };
  }

  /**
   * Finds faults that only show after the last record: records that were cut off, then payloads that are missing
   * without an erasure. In this order, because the record of an erasure may be among those that were cut off.
   */
  private async endFault(checkpoints: CheckpointQueue): Promise<Fault | undefined> {
    const { size, sizeMin } = this.start;
    if (sizeMin > size) {
      return { seq: size + 1, kind: 'TRUNCATED', detail: `The log has ${size} records and had at least ${sizeMin}.` };
    }
    const sizeNow = async () => (await this.store.read((tx) => this.repository.head(tx)))?.seq ?? 0;
    const shorter = await checkpoints.findTruncation(sizeNow);
    if (shorter !== undefined) return shorter;
    return this.payloads.findUnexplained((after) =>
      this.store.read((tx) => this.repository.recordsAfter(tx, after, pageRows)),
    );
  }

  private report(fault: Fault | undefined): VerifyReport {
    const { size } = this.start;
    return {
      ok: fault === undefined,
      checked: this.checked,
      size,
      root: this.frontier.root(),
      sealed: size,
      ...(fault === undefined ? {} : { firstBad: fault }),
      erased: this.payloads.erasedRecords(),
    };
  }
}

async function readStart(tx: ReadTx, repository: AuditRepository, asked: number): Promise<WalkStart> {
  const size = (await repository.head(tx))?.seq ?? 0;
  const from = Math.min(asked, size + 1);
  const before: (Subtree & { hash: Hash })[] = [];
  for (const subtree of subtreesOf({ from: 0, to: from - 1 })) {
    before.push({ ...subtree, hash: await subtreeHash(tx, repository, subtree) });
  }
  const tiles = ((await repository.newestNode(tx, storedLevels[0])) ?? -1) + 1;
  return {
    log: await repository.logId(tx),
    from,
    size,
    prev: from === 1 ? zeroHash : (await repository.find(tx, from - 1))?.hash,
    before,
    keys: await repository.keys(tx),
    sizeMin: Math.max((await repository.newestPayload(tx)) ?? 0, tiles * tileLeaves),
  };
}

function nodeKey({ level, index }: Subtree): string {
  return `${level}/${index}`;
}
