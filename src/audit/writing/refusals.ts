import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { JsonObject } from '../../base/json.js';
import { Logger } from '../../base/logger.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { Store, type WriteTx } from '../../base/store.js';
import type { AuditEntry } from '../audit-entry.js';
import { AuditWriter } from './audit-writer.js';
import { MinuteWindow } from './minute-window.js';
import { RefusalWindow } from './refusal-window.js';

/** Records refused calls, each in a unit of its own; floods of refusals are counted instead. */
@injectable()
export class Refusals {
  private readonly window: MinuteWindow<RefusalWindow>;

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(AuditWriter) private readonly writer: AuditWriter,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(Logger) private readonly logger: Logger,
  ) {
    this.window = new MinuteWindow(
      clock,
      (from) => new RefusalWindow(from),
      (window) => this.recordCounts(window),
    );
  }

  /**
   * Resolves with the id of the record when it is stored, and with undefined when the refusal was only counted. Never
   * rejects: an error is logged. `inSameUnit` is called in the unit of the record.
   */
  async record(entry: AuditEntry, inSameUnit?: (tx: WriteTx) => void): Promise<string | undefined> {
    const isRecorded = this.window.current().admit(entry);
    return isRecorded ? this.write(entry, inSameUnit) : undefined;
  }

  /** Records the counts. The store must still be open. */
  close(): Promise<void> {
    return this.window.close();
  }

  private async recordCounts(window: RefusalWindow): Promise<void> {
    const counts = window.counts();
    if (counts !== undefined) await this.write(this.summary(counts));
  }

  private summary(counts: JsonObject): AuditEntry {
    return {
      actor: 'host',
      via: `host:${this.node.operator}`,
      action: 'audit.refusals',
      outcome: 'refused',
      at: this.clock.now(),
      facts: counts,
    };
  }

  private async write(entry: AuditEntry, inSameUnit?: (tx: WriteTx) => void): Promise<string | undefined> {
    try {
      return await this.store.write(async (tx) => {
        inSameUnit?.(tx);
        return this.writer.append(tx, entry);
      });
    } catch (error) {
      this.logger.error({ action: entry.action, reason: String(error) }, 'A refusal could not be recorded.');
      return undefined;
    }
  }
}
