import { inject, injectable } from 'inversify';
import type { CapabilityId, Pid } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import type { Constraints } from '../constraint/atoms.js';
import type { CapabilityStatus } from '../holding/capability.js';
import type { CapabilityRecord } from '../holding/capability-record.js';
import { CapabilityRepository, type HolderState } from '../holding/capability-repository.js';

/** A capability in the graph; its record is replaced when it changes. */
export interface GraphNode {
  record: CapabilityRecord;
}

/** Capabilities with everything that they were derived from, and the processes that hold them. */
export class AuthorityGraph {
  readonly nodes = new Map<CapabilityId, GraphNode>();
  /** Undefined: there is no such process. */
  readonly holders = new Map<Pid, HolderState | undefined>();

  /**
   * A capability is live when it and every one above it are: by their own status, and by the state and the generation of
   * their holders. Otherwise the status is the one that is nearest to it in the chain; but a revocation above it comes
   * first, so that the reason is the same before and after the sweep.
   */
  statusOf({ record }: GraphNode, now: number): CapabilityStatus {
    let nearest: CapabilityStatus = 'live';
    for (let current = record; ; ) {
      const status = ownStatus(current, this.holders.get(current.holder), now);
      if (status === 'revoked') return status;
      if (nearest === 'live') nearest = status;
      if (current.parent === null) return nearest;
      const parent = this.nodes.get(current.parent)?.record;
      // It was held by a process that has ended and was pruned.
      if (parent === undefined) return nearest === 'live' ? 'ended' : nearest;
      current = parent;
    }
  }

  /** Itself first, up to the root grant, or to what is left of the chain after its holders were pruned. */
  chainOf({ record }: GraphNode): CapabilityRecord[] {
    const chain = [record];
    for (let current: CapabilityRecord | undefined = record; current?.parent != null; ) {
      current = this.nodes.get(current.parent)?.record;
      if (current !== undefined) chain.push(current);
    }
    return chain;
  }
}

/** The status of one capability by itself and its holder, whatever is above it. */
function ownStatus(record: CapabilityRecord, holder: HolderState | undefined, now: number): CapabilityStatus {
  if (record.status !== 'live') return record.status;
  if (record.expiresAt !== null && record.expiresAt <= now) return 'expired';
  if (record.uses === 0) return 'spent';
  if (holder === undefined || !holder.live) return 'ended';
  return !record.own && record.generation < holder.authoritySince ? 'ended' : 'live';
}

/** Fills graphs from the store. Nothing that is in a graph is read again. */
@injectable()
export class GraphLoader {
  constructor(@inject(CapabilityRepository) private readonly repository: CapabilityRepository) {}

  /** Adds `record`, all that it was derived from, and their holders. */
  async loadChain(tx: ReadTx, graph: AuthorityGraph, record: CapabilityRecord): Promise<GraphNode> {
    const node = graph.nodes.get(record.id) ?? { record };
    graph.nodes.set(record.id, node);
    for (let current = record; ; ) {
      await this.loadHolder(tx, graph, current.holder);
      const parent = current.parent === null ? undefined : await this.loadRecord(tx, graph, current.parent);
      if (parent === undefined) return node;
      current = parent;
    }
  }

  /** As `loadChain` for many: what they have in common, and each step towards the roots, is read together. */
  async loadChains(tx: ReadTx, graph: AuthorityGraph, records: readonly CapabilityRecord[]): Promise<GraphNode[]> {
    const [only] = records;
    if (only !== undefined && records.length === 1) return [await this.loadChain(tx, graph, only)];
    const nodes = records.map((record) => {
      const node = graph.nodes.get(record.id) ?? { record };
      graph.nodes.set(record.id, node);
      return node;
    });
    let level: readonly CapabilityRecord[] = nodes.map(({ record }) => record);
    while (level.length > 0) {
      await this.loadHolders(tx, graph, level);
      const above = new Set(level.flatMap(({ parent }) => parent ?? []));
      const missing = [...above].filter((id) => !graph.nodes.has(id));
      for (const record of await this.repository.findAll(tx, missing)) graph.nodes.set(record.id, { record });
      // What was in the graph before has its holders there, and those of everything above it.
      level = missing.flatMap((id) => graph.nodes.get(id)?.record ?? []);
    }
    return nodes;
  }

  private async loadHolders(tx: ReadTx, graph: AuthorityGraph, records: readonly CapabilityRecord[]): Promise<void> {
    const pids = [...new Set(records.map(({ holder }) => holder))].filter((pid) => !graph.holders.has(pid));
    const found = await this.repository.findHolders(tx, pids);
    for (const pid of pids) graph.holders.set(pid, found.get(pid));
  }

  async loadHolder(tx: ReadTx, graph: AuthorityGraph, pid: Pid): Promise<HolderState | undefined> {
    if (!graph.holders.has(pid)) graph.holders.set(pid, await this.repository.findHolder(tx, pid));
    return graph.holders.get(pid);
  }

  private async loadRecord(tx: ReadTx, graph: AuthorityGraph, id: CapabilityId): Promise<CapabilityRecord | undefined> {
    const known = graph.nodes.get(id)?.record;
    if (known !== undefined) return known;
    const record = await this.repository.find(tx, id);
    if (record !== undefined) graph.nodes.set(id, { record });
    return record;
  }
}

/**
 * Gives equal parts of records the same object in memory: thousands of capabilities of one process have the same holder,
 * status and constraints, and values that are read again and again should lie close together.
 */
export class RecordInterner {
  private readonly texts = new Map<string, string>();
  private readonly constraints = new Map<string, Constraints>();

  intern(record: CapabilityRecord): CapabilityRecord {
    const { holder, status, grantedBy, constraints } = record;
    return {
      ...record,
      holder: this.internText(holder),
      status: this.internText(status) as CapabilityStatus,
      grantedBy: this.internText(grantedBy),
      constraints: constraints === null ? null : this.internConstraints(constraints),
    };
  }

  private internText(value: string): string {
    const known = this.texts.get(value);
    if (known === undefined) this.texts.set(value, value);
    return known ?? value;
  }

  private internConstraints(value: Constraints): Constraints {
    const text = JSON.stringify(value);
    const known = this.constraints.get(text);
    if (known === undefined) this.constraints.set(text, value);
    return known ?? value;
  }
}
