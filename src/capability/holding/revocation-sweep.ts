import { inject, injectable } from 'inversify';
import { Clock } from '../../base/clock.js';
import type { CapabilityId } from '../../base/ids.js';
import { Logger } from '../../base/logger.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { Store, type WriteTx } from '../../base/store.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { CapabilityRepository } from './capability-repository.js';

/** The most rows of one unit, so that other units are not kept waiting. */
const batchRows = 250;

/**
 * Marks everything below a revoked capability as revoked. No decision depends on these marks: they are for lists. The
 * unfinished work is marked in the rows themselves (`sweeping`), so that a sweep goes on after a crash.
 */
@injectable()
export class RevocationSweep {
  private running: Promise<void> | undefined;

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: Clock,
    @inject(CapabilityRepository) private readonly repository: CapabilityRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  /** Starts working if this kernel or an earlier one has left work unfinished. */
  async start(): Promise<void> {
    const unfinished = await this.store.read((tx) => this.repository.findSweeping(tx, 1));
    if (unfinished.length > 0) this.wake();
  }

  /** Starts working in the background; revocations that happen meanwhile are swept as well. */
  wake(): void {
    this.running = (this.running ?? Promise.resolve()).then(() => this.run());
  }

  /** Resolves when all work is done. The store must still be open. */
  async waitUntilIdle(): Promise<void> {
    await this.running;
  }

  private async run(): Promise<void> {
    try {
      while (await this.store.write((tx) => this.sweepBatch(tx)));
    } catch (error) {
      // The marks stay, and with them the work: the next revocation or the next start takes it up.
      this.logger.error({ error: String(error) }, 'cannot mark the capabilities below a revoked one');
    }
  }

  /** Returns whether there is more to do. */
  private async sweepBatch(tx: WriteTx): Promise<boolean> {
    const sweeping = await this.repository.findSweeping(tx, batchRows);
    const below = await this.repository.findLiveBelow(tx, sweeping, batchRows);
    await this.repository.revokeAll(tx, below);
    const under = new Set(below.flatMap(({ parent }) => parent ?? []));
    const isWhole = below.length < batchRows;
    const last = below.at(-1)?.parent;
    // When the batch is full, more may be left of the last parent, and of those that it has not come to.
    const swept = isWhole ? sweeping : [...under].filter((parent) => parent !== last);
    await this.repository.endSweeping(tx, swept);
    const revoked = below.map(({ id }) => id);
    if (revoked.length > 0) this.record(tx, [...under], revoked);
    return !isWhole || sweeping.length === batchRows || below.some(({ hasBelow }) => hasBelow);
  }

  private record(tx: WriteTx, under: CapabilityId[], capabilities: CapabilityId[]): void {
    const at = this.clock.now();
    this.recorder.recordEvent(tx, { type: 'capabilities.swept', at, data: { count: capabilities.length } });
    this.recorder.recordAudit(tx, {
      actor: 'kernel',
      via: `host:${this.node.operator}`,
      at,
      action: 'capability.sweep',
      outcome: 'ok',
      facts: { under, capabilities },
    });
  }
}
