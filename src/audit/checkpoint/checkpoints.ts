import { inject, injectable, optional } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { AuditError } from '../../base/errors.js';
import { Logger } from '../../base/logger.js';
import { type ReadTx, Store, type WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import { auditBroken } from '../audit-errors.js';
import { AuditRepository } from '../audit-repository.js';
import { rootAt } from '../merkle/tiles.js';
import type { Fault } from '../verify/verify-report.js';
import { AuditWriter } from '../writing/audit-writer.js';
import { type Checkpoint, isSignedBy, keyIdOf, signedBytes } from './checkpoint.js';
import { CheckpointSink } from './checkpoint-sink.js';
import { Signer } from './signer.js';

/** Writes rows that belong to a new checkpoint, in the unit that stores it. */
export interface CheckpointAnnouncer {
  announce(tx: WriteTx, checkpoint: Checkpoint): void;
}
export const CheckpointAnnouncer: Token<CheckpointAnnouncer> = token('CheckpointAnnouncer');

export const checkpointRecords = 10_000;
export const checkpointMs = 60_000;

/** Whether a checkpoint of a log with `size` records is due, after the last one that any node has signed. */
type DueCheck = (last: Checkpoint, size: number) => boolean;

const whenUnsigned: DueCheck = (last, size) => size > last.size;
const afterRecords: DueCheck = (last, size) => size - last.size >= checkpointRecords;

/**
 * Signs the head of the log: after a number of records, at intervals, on request, and when it is closed. Every node signs with its
 * own key. One that finds a checkpoint that another has just signed leaves it at that.
 */
@injectable()
export class Checkpoints {
  private readonly cleanup: Disposable[] = [];
  private running: Promise<unknown> = Promise.resolve();
  private requested = false;
  /** The size of the log after this kernel's last commit. */
  private newestSize = 0;
  /** The size that was signed last, as far as this kernel knows. */
  private signedSize = 0;
  /** The size at which signing last began: a signer that fails is not called again for every commit. */
  private attemptedSize = 0;

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(AuditRepository) private readonly repository: AuditRepository,
    @inject(AuditWriter) private readonly writer: AuditWriter,
    @inject(Signer) private readonly signer: Signer,
    @inject(CheckpointSink) private readonly sink: CheckpointSink,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(Logger) private readonly logger: Logger,
    @inject(CheckpointAnnouncer) @optional() private readonly announcer?: CheckpointAnnouncer,
  ) {}

  /** Starts signing by itself; not called for a kernel that only reads. Throws the errors of the signer. */
  async start(): Promise<void> {
    // Generates a seeded key now: otherwise the order of random bytes would depend on when the first checkpoint is due.
    this.signer.publicKey();
    this.signedSize = (await this.store.read((tx) => this.repository.lastCheckpoint(tx)))?.size ?? 0;
    this.cleanup.push(
      this.writer.onSealed(({ size }) => {
        this.newestSize = size;
        if (size - Math.max(this.signedSize, this.attemptedSize) >= checkpointRecords) this.request(afterRecords);
      }),
    );
    const afterInterval: DueCheck = (last, size) => whenUnsigned(last, size) && !this.isYoung(last);
    const timer = setInterval(() => this.request(afterInterval), checkpointMs).unref();
    this.cleanup.push({ [Symbol.dispose]: () => clearInterval(timer) });
  }

  /**
   * Signs the head of the log, or returns the checkpoint of it that exists. A log that does not begin with the log that
   * was signed before is not signed. Throws AUDIT_BROKEN, SIGNER_FAILED, STORE_*.
   */
  take(): Promise<Checkpoint> {
    return this.enqueue(() => this.sign());
  }

  /** Resolves when nothing is being signed. */
  async settle(): Promise<void> {
    await this.running;
  }

  /** Signs the records that are not signed yet, and stops. The store must still be open. */
  async close(): Promise<void> {
    for (const part of this.cleanup.splice(0)) part[Symbol.dispose]();
    this.requested = false;
    this.request(whenUnsigned);
    await this.settle();
  }

  /** Signs in the background, unless that is under way, there are no new records, or no checkpoint `isDue`. */
  private request(isDue: DueCheck): void {
    if (this.requested || this.newestSize <= this.signedSize) return;
    this.requested = true;
    this.attemptedSize = this.newestSize;
    this.running = this.enqueue(() => this.signIfDue(isDue))
      .catch((error: unknown) => this.logger.error({ reason: String(error) }, 'The audit log could not be signed.'))
      .finally(() => {
        this.requested = false;
      });
  }

  private enqueue<T>(work: () => Promise<T>): Promise<T> {
    const done = this.running.then(work);
    this.running = done.catch(() => undefined);
    return done;
  }

  private async signIfDue(isDue: DueCheck): Promise<void> {
    const { size, last } = await this.store.read(async (tx) => ({
      size: (await this.repository.head(tx))?.seq ?? 0,
      last: await this.repository.lastCheckpoint(tx),
    }));
    // A log that is shorter than its last checkpoint is broken, and signing says so.
    if (last === undefined || last.size > size || isDue(last, size)) {
      await this.sign();
      return;
    }
    this.rememberSigned(last);
    this.attemptedSize = last.size;
  }

  private isYoung({ at }: Checkpoint): boolean {
    const age = this.clock.peek() - at;
    return age >= 0 && age < checkpointMs / 2;
  }

  private async sign(): Promise<Checkpoint> {
    const { log, size, root, last } = await this.readHead();
    const publicKey = this.signer.publicKey();
    const key = keyIdOf(publicKey);
    if (last?.size === size && last.key === key) return this.rememberSigned(last);
    const replaced = await this.store.read((tx) => this.replacesOthers(tx, key));
    const content = { log, size, root, at: this.clock.peek(), key, ...(replaced ? { replaced } : {}) };
    const signature = Buffer.from(await this.signer.sign(signedBytes(content))).toString('hex');
    const checkpoint: Checkpoint = { ...content, signature };
    if (!isSignedBy(checkpoint, publicKey)) throw signerFailed(key);
    const isStored = await this.store.write(async (tx) => {
      if ((await this.replacesOthers(tx, key)) !== replaced) return false;
      await this.repository.insertKey(tx, { id: key, publicKey });
      await this.repository.insertCheckpoint(tx, checkpoint);
      this.announcer?.announce(tx, checkpoint);
      return true;
    });
    // Another node has signed first: what this one says of its key is true no more. Keys stay, so that happens twice at most.
    if (!isStored) return this.sign();
    if (replaced) this.warnOfKey(last, key);
    await this.publish(checkpoint, publicKey);
    return this.rememberSigned(checkpoint);
  }

  /** Whether the key has not signed this log before, and others have. */
  private async replacesOthers(tx: ReadTx, key: string): Promise<boolean> {
    const keys = await this.repository.keys(tx);
    return keys.length > 0 && !keys.some(({ id }) => id === key);
  }

  private warnOfKey(last: Checkpoint | undefined, key: string): void {
    const facts = { before: last?.key ?? '', after: key };
    this.logger.warn(facts, 'The audit log is signed with a key that has not signed it before.');
  }

  /**
   * Reads the head that is to be signed. Begins with a write unit: a kernel that only reads fails before a key is
   * created.
   */
  private async readHead() {
    const log = await this.store.write((tx) => this.writer.openLog(tx));
    return this.store.read(async (tx) => {
      const size = (await this.repository.head(tx))?.seq ?? 0;
      const last = await this.repository.lastCheckpoint(tx);
      if (last !== undefined && last.size > size) throw auditBroken(shorterThan(last, size));
      if (last !== undefined && (await rootAt(tx, this.repository, last.size)) !== last.root) {
        throw auditBroken(forkedAt(last));
      }
      return { log, size, root: await rootAt(tx, this.repository, size), last };
    });
  }

  /** Copies the checkpoint to the sink. A failure is logged: the checkpoint in the database stays valid. */
  private async publish(checkpoint: Checkpoint, publicKey: string): Promise<void> {
    try {
      await this.sink.append({ ...checkpoint, publicKey });
    } catch (error) {
      this.logger.error(
        { size: checkpoint.size, reason: String(error) },
        'A checkpoint was not kept outside the database.',
      );
    }
  }

  private rememberSigned(checkpoint: Checkpoint): Checkpoint {
    this.signedSize = Math.max(this.signedSize, checkpoint.size);
    return checkpoint;
  }
}

function shorterThan(last: Checkpoint, size: number): Fault {
  return { seq: size + 1, kind: 'TRUNCATED', detail: `It has ${size} records, and ${last.size} were signed.` };
}

function forkedAt({ size }: Checkpoint): Fault {
  return { seq: size, kind: 'FORKED', detail: 'It had another root here when it was signed.' };
}

function signerFailed(key: string): AuditError {
  return new AuditError('SIGNER_FAILED', `The signer's signature does not fit its public key ${key}.`, {
    facts: { key },
    hint: 'Give a Signer whose sign() makes Ed25519 signatures with the key that publicKey() names.',
  });
}
