import { inject, injectable, optional } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { AuditError } from '../../base/errors.js';
import { Logger } from '../../base/logger.js';
import { Store } from '../../base/store.js';
import { auditBroken } from '../audit-errors.js';
import { AuditRepository } from '../audit-repository.js';
import { rootAt } from '../merkle/tiles.js';
import type { Fault } from '../verify/verify-report.js';
import { AuditWriter } from '../writing/audit-writer.js';
import { type Checkpoint, isSignedBy, keyIdOf, signedBytes } from './checkpoint.js';
import { CheckpointAnnouncer } from './checkpoint-announcer.js';
import { CheckpointSink } from './checkpoint-sink.js';
import { Signer } from './signer.js';

export const checkpointRecords = 10_000;
export const checkpointMs = 60_000;

/** Signs the head of the log: after so many records, after so much time, on request, and at the end. */
@injectable()
export class Checkpoints {
  private readonly cleanup: Disposable[] = [];
  private running: Promise<unknown> = Promise.resolve();
  private requested = false;
  /** The size of the log after this kernel's last commit, and the size that was signed last. */
  private newest = 0;
  private signed = 0;
  /** The size at which signing was last begun: a signer that fails is not asked again for every commit. */
  private tried = 0;

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(AuditRepository) private readonly repository: AuditRepository,
    @inject(AuditWriter) private readonly ledger: AuditWriter,
    @inject(Signer) private readonly signer: Signer,
    @inject(CheckpointSink) private readonly sink: CheckpointSink,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(Logger) private readonly logger: Logger,
    @inject(CheckpointAnnouncer) @optional() private readonly announcer?: CheckpointAnnouncer,
  ) {}

  /** Begins to sign by itself; not called for a kernel that only reads. Throws what the signer throws. */
  async start(): Promise<void> {
    // A key that a seed gives is drawn here, where it does not depend on when the first checkpoint falls due.
    this.signer.publicKey();
    this.signed = (await this.store.read((tx) => this.repository.lastCheckpoint(tx)))?.size ?? 0;
    this.cleanup.push(
      this.ledger.onSealed(({ size }) => {
        this.newest = size;
        if (size - Math.max(this.signed, this.tried) >= checkpointRecords) this.request();
      }),
    );
    const timer = setInterval(() => this.request(), checkpointMs).unref();
    this.cleanup.push({ [Symbol.dispose]: () => clearInterval(timer) });
  }

  /**
   * The signed head of the log; what is signed already is not signed again, and what does not
   * begin with what was signed before is not signed at all. Throws AUDIT_BROKEN, SIGNER_FAILED, STORE_*.
   */
  take(): Promise<Checkpoint> {
    const taken = this.running.then(() => this.sign());
    this.running = taken.catch(() => undefined);
    return taken;
  }

  /** Signs what is new and stops. The store must still be open. */
  async close(): Promise<void> {
    for (const part of this.cleanup.splice(0)) part[Symbol.dispose]();
    this.requested = false;
    this.request();
    await this.running;
  }

  /** One checkpoint in the background, unless one is on its way or there is nothing new. */
  private request(): void {
    if (this.requested || this.newest <= this.signed) return;
    this.requested = true;
    this.tried = this.newest;
    this.running = this.take()
      .catch((error: unknown) => this.logger.error({ reason: String(error) }, 'The audit log could not be signed.'))
      .finally(() => {
        this.requested = false;
      });
  }

  private async sign(): Promise<Checkpoint> {
    const { log, size, root, last } = await this.head();
    const publicKey = this.signer.publicKey();
    const key = keyIdOf(publicKey);
    if (last?.size === size && last.key === key) return this.note(last);
    const replaced = last !== undefined && last.key !== key;
    const content = { log, size, root, at: this.clock.peek(), key, ...(replaced ? { replaced } : {}) };
    const signature = Buffer.from(await this.signer.sign(signedBytes(content))).toString('hex');
    const checkpoint: Checkpoint = { ...content, signature };
    if (!isSignedBy(checkpoint, publicKey)) throw signerFailed(key);
    if (replaced) this.logger.warn({ before: last.key, after: key }, 'The audit log is signed with another key now.');
    await this.store.write(async (tx) => {
      await this.repository.insertKey(tx, { id: key, publicKey });
      await this.repository.insertCheckpoint(tx, checkpoint);
      this.announcer?.checkpointed(tx, checkpoint);
    });
    await this.publish(checkpoint, publicKey);
    return this.note(checkpoint);
  }

  /** The head as it is to be signed. Begins with a write unit: who only reads is refused before a key is made. */
  private async head() {
    const log = await this.store.write((tx) => this.ledger.openLog(tx));
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

  /** The row is the checkpoint; a copy that cannot be kept outside is reported and takes nothing back. */
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

  private note(checkpoint: Checkpoint): Checkpoint {
    this.signed = Math.max(this.signed, checkpoint.size);
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
