import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import { unusableHolder } from '../errors.js';
import { CapabilityRepository, type HolderState } from './capability-repository.js';

/** Finds the process that is to hold, give or get a capability. */
@injectable()
export class HolderLookup {
  constructor(@inject(CapabilityRepository) private readonly repository: CapabilityRepository) {}

  /** Throws NO_SUCH_PROCESS. */
  async findAny(tx: ReadTx, pid: Pid): Promise<HolderState> {
    const holder = await this.repository.findHolder(tx, pid);
    if (holder === undefined) throw unusableHolder('NO_SUCH_PROCESS', pid, 'does not exist');
    return holder;
  }

  /** Throws NO_SUCH_PROCESS, PROCESS_TERMINATED. */
  async findLive(tx: ReadTx, pid: Pid): Promise<HolderState> {
    const holder = await this.findAny(tx, pid);
    if (!holder.live) throw unusableHolder('PROCESS_TERMINATED', pid, 'has ended');
    return holder;
  }

  /** Throws NO_SUCH_PROCESS, PROCESS_TERMINATED, TREE_STOPPING. */
  async findActive(tx: ReadTx, pid: Pid): Promise<HolderState> {
    const holder = await this.findLive(tx, pid);
    if (holder.stopping)
      throw unusableHolder('TREE_STOPPING', pid, 'is being stopped: it neither gives nor gets anything');
    return holder;
  }
}
