import { inject, injectable } from 'inversify';
import type { CapabilityId, Pid } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import type { CapabilityRecord } from '../holding/capability-record.js';
import { CapabilityRepository, type HolderState } from '../holding/capability-repository.js';
import type { AuthorityGraph, GraphNode } from './authority-graph.js';

/** Fills graphs of authority from the store. What a graph knows already is not read again. */
@injectable()
export class GraphLoader {
  constructor(@inject(CapabilityRepository) private readonly repository: CapabilityRepository) {}

  /** Adds `record`, all that it was derived from, and their holders. */
  async add(tx: ReadTx, graph: AuthorityGraph, record: CapabilityRecord): Promise<GraphNode> {
    const slot = graph.slots.get(record.id) ?? { record };
    graph.slots.set(record.id, slot);
    for (let at = record; ; ) {
      await this.learn(tx, graph, at.holder);
      const above = at.parent === null ? undefined : await this.above(tx, graph, at.parent);
      if (above === undefined) return slot;
      at = above;
    }
  }

  async learn(tx: ReadTx, graph: AuthorityGraph, pid: Pid): Promise<HolderState | undefined> {
    if (!graph.holders.has(pid)) graph.holders.set(pid, await this.repository.holder(tx, pid));
    return graph.holders.get(pid);
  }

  private async above(tx: ReadTx, graph: AuthorityGraph, id: CapabilityId): Promise<CapabilityRecord | undefined> {
    const known = graph.slots.get(id)?.record;
    if (known !== undefined) return known;
    const record = await this.repository.find(tx, id);
    if (record !== undefined) graph.slots.set(id, { record });
    return record;
  }
}
