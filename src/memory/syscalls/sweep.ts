import { inject, injectable } from 'inversify';
import type { ObjectId } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import { type Call, hostCaller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import { ReclaimRepository } from '../object/reclaim-repository.js';

const batchRows = 1_000;

/** Gives back the room of what nobody can reach any more. */
@injectable()
export class SweepObjects {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(ReclaimRepository) private readonly repository: ReclaimRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /**
   * Drops the payloads of objects that were deleted, or that an ended process left and that no capability reaches since
   * its parent has merged it or has ended itself; and of what was written through views that nobody sees or can merge any
   * more. In batches, each one a unit. Hashes stay. Answers with the objects and the versions in views that have gone.
   */
  async run(): Promise<{ reclaimed: number }> {
    let reclaimed = 0;
    for (let after: ObjectId | undefined = ''; after !== undefined; ) {
      const from: ObjectId = after;
      const batch = await this.unit('objects', (tx, at) => this.repository.objects(tx, at, from, batchRows));
      reclaimed += batch.count;
      after = batch.last;
    }
    const { count } = await this.unit('versions', async (tx) => ({ count: await this.repository.versions(tx) }));
    return { reclaimed: reclaimed + count };
  }

  private unit<T extends { readonly count: number }>(
    what: 'objects' | 'versions',
    drop: (tx: WriteTx, at: number) => Promise<T>,
  ): Promise<T> {
    const call: Call = { caller: hostCaller, actor: 'host', action: 'memory.sweep' };
    return this.units.commit(call, async (tx, act) => {
      const dropped = await drop(tx, act.at);
      const facts = { [what]: dropped.count };
      if (dropped.count > 0) this.recorder.audit(tx, { ...act, action: call.action, outcome: 'ok', facts });
      return dropped;
    });
  }
}
