import { strict as assert } from 'node:assert';
import { inject, injectable } from 'inversify';
import type { WriteTx } from '../../base/store.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import type { CapabilityRecord } from './capability-record.js';
import { CapabilityRepository } from './capability-repository.js';

/** Finite uses: each one counts for the capability and for everything it was derived from. */
@injectable()
export class UseCounter {
  constructor(
    @inject(CapabilityRepository) private readonly repository: CapabilityRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /** Takes one use of each of `finite`: those of `used` and of all above it, found live in this unit. None costs nothing. */
  async claim(tx: WriteTx, used: CapabilityRecord, finite: readonly CapabilityRecord[], at: number): Promise<void> {
    if (finite.length === 0) return;
    assert(await this.repository.claim(tx, finite), `${used.id} was live and had no use left`);
    const data = { capability: used.id, counted: finite.map(({ id }) => id) };
    this.recorder.event(tx, { type: 'capability.used', at, pid: used.holder, data });
  }
}
