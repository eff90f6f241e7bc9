import { inject, injectable } from 'inversify';
import { Clock } from '../../base/clock.js';
import type { CapabilityId } from '../../base/ids.js';
import { Logger } from '../../base/logger.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { Store, type WriteTx } from '../../base/store.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { CapabilityRepository } from './capability-repository.js';

/** Rows of one unit, so that others are not kept waiting. */
const batchRows = 250;

/**
 * Marks what lies below a revoked capability. Nothing works by these marks: they are for lists. What is not finished
 * stands in the rows themselves (`sweeping`), so that a sweep which a crash cut off is taken up at the next start.
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

  /** Goes to work where something is left to do, by this kernel or an earlier one. */
  async start(): Promise<void> {
    const left = await this.store.read((tx) => this.repository.findSweeping(tx, 1));
    if (left.length > 0) this.wake();
  }

  /** Goes to work in the background; what is begun while it works is done as well. */
  wake(): void {
    this.running = (this.running ?? Promise.resolve()).then(() => this.run());
  }

  /** Resolves when nothing is left to do. The store must still be open. */
  async waitUntilIdle(): Promise<void> {
    await this.running;
  }

  private async run(): Promise<void> {
    try {
      while (await this.store.write((tx) => this.sweepBatch(tx)));
    } catch (error) {
      // The marks stay, and with them the work: the next revocation or the next start takes it up.
      this.logger.error({ error: String(error) }, 'what was revoked could not be marked');
    }
  }

  /** Whether there is more to do. */
  private async sweepBatch(tx: WriteTx): Promise<boolean> {
    const marked: CapabilityId[] = [];
    const under: CapabilityId[] = [];
    for (const parent of await this.repository.findSweeping(tx, batchRows)) {
      const room = batchRows - marked.length;
      if (room === 0) break;
      const below = await this.repository.pageLiveBelow(tx, parent, 0, room);
      for (const capability of below) {
        await this.repository.revoke(tx, capability);
        marked.push(capability.id);
      }
      if (below.length > 0) under.push(parent);
      if (below.length < room) await this.repository.endSweeping(tx, parent);
    }
    if (marked.length > 0) this.record(tx, under, marked);
    return (await this.repository.findSweeping(tx, 1)).length > 0;
  }

  private record(tx: WriteTx, under: CapabilityId[], capabilities: CapabilityId[]): void {
    const at = this.clock.now();
    this.recorder.event(tx, { type: 'capabilities.swept', at, data: { count: capabilities.length } });
    this.recorder.audit(tx, {
      actor: 'kernel',
      via: `host:${this.node.operator}`,
      at,
      action: 'capability.sweep',
      outcome: 'ok',
      facts: { under, capabilities },
    });
  }
}
