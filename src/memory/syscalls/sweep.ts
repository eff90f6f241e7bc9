import { inject, injectable } from 'inversify';
import type { ObjectId } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import { type Call, hostCaller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import { MemoryCharges } from '../memory-charges.js';
import { type Reclaimed, ReclaimRepository } from '../object/reclaim-repository.js';

const batchRows = 1_000;

/** Reclaims the storage of objects that no process can reach any more. */
@injectable()
export class SweepObjects {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(ReclaimRepository) private readonly repository: ReclaimRepository,
    @inject(MemoryCharges) private readonly charges: MemoryCharges,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /**
   * Drops the payloads of deleted objects, of objects that an ended process left and that no capability reaches since its
   * parent merged it or ended too, and of overlays that no process sees or can merge any more. Hashes stay. Runs in batches,
   * each a unit, and takes back the charges for what it drops. Returns the number of objects and overlays reclaimed.
   */
  async run(): Promise<{ reclaimed: number }> {
    let reclaimed = 0;
    for (let after: ObjectId | undefined = ''; after !== undefined; ) {
      const from: ObjectId = after;
      const batch = await this.runUnit('objects', (tx, at) => this.repository.dropPayloads(tx, at, from, batchRows));
      reclaimed += batch.count;
      after = batch.last;
    }
    const { count } = await this.runUnit('versions', (tx) => this.repository.dropVersions(tx));
    return { reclaimed: reclaimed + count };
  }

  private runUnit<T extends Reclaimed>(
    kind: 'objects' | 'versions',
    drop: (tx: WriteTx, at: number) => Promise<T>,
  ): Promise<T> {
    const call: Call = { caller: hostCaller, actor: 'host', action: 'memory.sweep' };
    return this.units.commit(call, async (tx, act) => {
      const dropped = await drop(tx, act.at);
      await this.charges.returnStored(tx, dropped.bytes);
      const facts = { [kind]: dropped.count };
      if (dropped.count > 0) this.recorder.recordAudit(tx, { ...act, action: call.action, outcome: 'ok', facts });
      return dropped;
    });
  }
}
