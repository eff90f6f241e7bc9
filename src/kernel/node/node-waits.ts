import { inject, injectable } from 'inversify';
import type { ReadTx } from '../../base/store.js';
import type { ProcessRow, WaitFacet } from '../process/process.js';
import { LiveNodes } from './live-nodes.js';
import { Placement } from './placement.js';

/** Computes the waits of runnable processes for a node that can run them; nothing of them is stored. */
@injectable()
export class NodeWaits {
  private readonly placements = new WeakMap<ReadTx, Promise<Placement>>();

  constructor(@inject(LiveNodes) private readonly nodes: LiveNodes) {}

  /** Undefined unless the process is runnable and no live node can run it. Reads the nodes once in a unit. */
  async find(tx: ReadTx, row: ProcessRow): Promise<WaitFacet | undefined> {
    return row.status === 'runnable' ? (await this.placementIn(tx)).waitOf(row) : undefined;
  }

  private placementIn(tx: ReadTx): Promise<Placement> {
    const known = this.placements.get(tx);
    if (known !== undefined) return known;
    const placement = this.nodes.findOffers(tx).then((offers) => new Placement(offers));
    this.placements.set(tx, placement);
    return placement;
  }
}
