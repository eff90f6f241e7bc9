import { strict as assert } from 'node:assert';
import { inject, injectable } from 'inversify';
import type { WriteTx } from '../base/store.js';
import { EventLog } from '../events/event-log.js';
import type { CapabilityRecord } from './capability-record.js';
import { CapabilityRepository } from './capability-repository.js';

/** Finite uses: each one counts for the capability and for everything it was derived from. */
@injectable()
export class Uses {
  constructor(
    @inject(CapabilityRepository) private readonly repository: CapabilityRepository,
    @inject(EventLog) private readonly events: EventLog,
  ) {}

  /**
   * Takes one use of `record`, which was found live in this unit, and of every one above it that has finite uses.
   * Answers with how many counters went down: none costs nothing.
   */
  async claim(tx: WriteTx, record: CapabilityRecord, at: number): Promise<number> {
    const finite: CapabilityRecord[] = [];
    for (let one: CapabilityRecord | undefined = record; one !== undefined; ) {
      if (one.uses !== null) finite.push(one);
      one = one.parent === null ? undefined : await this.repository.find(tx, one.parent);
    }
    if (finite.length === 0) return 0;
    assert(await this.repository.claim(tx, finite), `${record.id} was live and had no use left`);
    const data = { capability: record.id };
    this.events.append(tx, { type: 'capability.used', at, pid: record.holder, data });
    return finite.length;
  }
}
