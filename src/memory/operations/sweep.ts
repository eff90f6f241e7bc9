import { inject, injectable } from 'inversify';
import { Ledger } from '../../audit/ledger.js';
import { hostFace } from '../../capability/act.js';
import { RecordedUnits } from '../../capability/recorded-units.js';
import { ReclaimRepository } from '../reclaim-repository.js';

const batchRows = 500;

/** Gives back the room of what nobody can reach any more. */
@injectable()
export class SweepObjects {
  constructor(
    @inject(RecordedUnits) private readonly units: RecordedUnits,
    @inject(ReclaimRepository) private readonly repository: ReclaimRepository,
    @inject(Ledger) private readonly ledger: Ledger,
  ) {}

  /**
   * Drops the payloads of objects that were deleted, of what an ended process left that its parent has merged or outlived
   * by ending itself, and of views that were merged or dropped. In batches, each one a unit. Hashes stay.
   */
  async run(): Promise<{ reclaimed: number }> {
    let reclaimed = 0;
    for (let more = true; more; ) {
      const call = { caller: hostFace, actor: 'host', action: 'memory.sweep' } as const;
      const batch = await this.units.commit(call, async (tx, act) => {
        const objects = await this.repository.reclaim(tx, act.at, batchRows);
        if (objects > 0) {
          this.ledger.append(tx, { ...act, action: call.action, outcome: 'ok', facts: { objects } });
        }
        return objects;
      });
      reclaimed += batch;
      more = batch === batchRows;
    }
    return { reclaimed };
  }
}
