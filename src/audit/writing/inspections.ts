import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { StoreError } from '../../base/errors.js';
import type { ObjectId, Pid } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import { Logger } from '../../base/logger.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { Store } from '../../base/store.js';
import type { AuditEntry } from '../audit-entry.js';
import { AuditWriter } from './audit-writer.js';
import { MinuteWindow, type WindowContent } from './minute-window.js';

/** The most reads that one window remembers; the next one begins a new window. */
const readsMax = 10_000;
/** The most reads that a summary lists: it bounds the size of its record. */
const namedReadsMax = 256;

/** A read of an object by the host. */
export interface Inspection {
  readonly action: string;
  readonly object: ObjectId;
  /** The process that the host asked about. */
  readonly target?: Pid;
}

/** The reads of one minute. */
interface ReadWindow extends WindowContent {
  readonly reads: Map<string, RecordedRead>;
}

interface RecordedRead extends Inspection {
  readonly recorded: Promise<void>;
  /** The repeats. */
  count: number;
}

/**
 * Records the reads of the host: the first of an object in a minute by a record of its own, its repeats by a count at the end
 * of the minute or at shutdown. A store that is open for reading gets none.
 */
@injectable()
export class Inspections {
  private readonly window: MinuteWindow<ReadWindow>;

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(AuditWriter) private readonly writer: AuditWriter,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(Logger) private readonly logger: Logger,
  ) {
    this.window = new MinuteWindow(
      clock,
      (from) => ({ from, reads: new Map() }),
      (window) => this.recordCounts(window),
    );
  }

  /** Resolves when the read is on record. Throws STORE_* when it cannot be recorded. */
  async record(inspection: Inspection): Promise<void> {
    if (this.window.current().reads.size >= readsMax) this.window.end();
    const { reads } = this.window.current();
    const { action, object, target } = inspection;
    const key = JSON.stringify([action, object, target]);
    const known = reads.get(key);
    if (known !== undefined) {
      known.count++;
      return known.recorded;
    }
    const facts = { object };
    const recorded = this.write({ ...this.hostEntry(action), facts, ...(target === undefined ? {} : { target }) });
    reads.set(key, { ...inspection, recorded, count: 0 });
    try {
      await recorded;
    } catch (error) {
      reads.delete(key);
      throw error;
    }
  }

  /** Records the counts. The store must still be open. */
  close(): Promise<void> {
    return this.window.close();
  }

  private async recordCounts({ from, reads }: ReadWindow): Promise<void> {
    const facts = countsOf(from, [...reads.values()]);
    if (facts === undefined) return;
    try {
      await this.write({ ...this.hostEntry('audit.inspections'), facts });
    } catch (error) {
      this.logger.error({ reason: String(error) }, 'Repeated reads of the host could not be recorded.');
    }
  }

  private hostEntry(action: string): AuditEntry {
    return { actor: 'host', via: `host:${this.node.operator}`, action, outcome: 'ok', at: this.clock.now() };
  }

  private async write(entry: AuditEntry): Promise<void> {
    try {
      await this.store.write(async (tx) => void this.writer.append(tx, entry));
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== 'STORE_READONLY') throw error;
    }
  }
}

/** The facts of the summary, or undefined when nothing was repeated. */
function countsOf(from: number, reads: readonly RecordedRead[]): JsonObject | undefined {
  const repeated = reads.filter(({ count }) => count > 0).sort((a, b) => b.count - a.count);
  if (repeated.length === 0) return undefined;
  const counts = repeated.slice(0, namedReadsMax).map(({ action, object, count }) => ({ action, object, count }));
  return { from, total: repeated.reduce((sum, { count }) => sum + count, 0), counts };
}
