import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { NodeId } from '../../base/ids.js';
import { NodeIdentity } from '../../base/node-identity.js';
import type { NodeRow } from '../../kernel/node/node-repository.js';
import { OsProcesses } from '../os/os-processes.js';
import { NodeSettings } from './node-settings.js';
import type { ReleaseReason } from './releases.js';

/** Why a node is taken for gone. */
export type LossReason = Extract<ReleaseReason, 'lapsed' | 'dead'>;

/** The lease of nodes of earlier releases, whose rows do not tell it. */
const leaseMsDefault = 30_000;

interface Observation {
  readonly row: NodeRow;
  /** When this state of the row was first seen, by the monotonic clock of this program. */
  readonly since: number;
}

/**
 * Judges whether other nodes are alive, by whether their rows change and never by comparing clocks: a node whose clock lags
 * or stands still is as alive as any other. A node is gone when its row has not changed for a lease period, as measured by
 * the monotonic clock of this program while this node renewed its own lease without a break. A program of this machine that
 * is provably gone needs no waiting; one that is provably there, such as a stopped one, is given two lease periods.
 */
@injectable()
export class NodeWatch {
  private readonly observations = new Map<NodeId, Observation>();
  private renewedAt: number | undefined;

  constructor(
    @inject(NodeIdentity) private readonly self: NodeIdentity,
    @inject(NodeSettings) private readonly settings: NodeSettings,
    @inject(OsProcesses) private readonly os: OsProcesses,
    @inject(Clock) private readonly clock: KernelClock,
  ) {}

  /** To be called whenever this node has renewed its lease, and when it begins to watch. */
  onOwnRenewal(): void {
    this.restartAfterBreak();
    this.renewedAt = this.clock.elapsedMs();
  }

  /** To be called when this node could not renew its lease, or not look at the others: nor may they have been able to renew theirs. */
  onFailure(): void {
    this.observations.clear();
  }

  /** Looks at the rows of all live nodes, and tells which of them are gone. */
  findGone(rows: readonly NodeRow[]): { readonly node: NodeRow; readonly reason: LossReason }[] {
    this.restartAfterBreak();
    const others = rows.filter(({ id }) => id !== this.self.nodeId);
    const ids = new Set(others.map(({ id }) => id));
    for (const id of this.observations.keys()) if (!ids.has(id)) this.observations.delete(id);
    return others.flatMap((node) => {
      const reason = this.judge(node);
      return reason === undefined ? [] : [{ node, reason }];
    });
  }

  private judge(node: NodeRow): LossReason | undefined {
    const now = this.clock.elapsedMs();
    const isAlive = this.os.isAlive(node.host);
    if (isAlive === false) return 'dead';
    const before = this.observations.get(node.id);
    if (before === undefined || !isSameState(before.row, node)) {
      this.observations.set(node.id, { row: node, since: now });
      return undefined;
    }
    const leaseMs = Math.max(this.settings.leaseMs, node.leaseMs ?? leaseMsDefault);
    return now - before.since > (isAlive === true ? 2 * leaseMs : leaseMs) ? 'lapsed' : undefined;
  }

  /**
   * Forgets everything when this node has not renewed its own lease for two thirds of it: the machine may have slept, or the
   * store been away, and the others could not renew theirs either. A clock that is moved by hand has no such breaks: all
   * nodes renew their leases when it is moved.
   */
  private restartAfterBreak(): void {
    if (this.clock.isMovedByHand) return;
    const sinceRenewal = this.clock.elapsedMs() - (this.renewedAt ?? Number.NEGATIVE_INFINITY);
    if (sinceRenewal > (2 / 3) * this.settings.leaseMs) this.observations.clear();
  }
}

/** Whether the node has not renewed its lease between the two. */
export function isSameState(a: NodeRow, b: NodeRow): boolean {
  return a.epoch === b.epoch && a.renewals === b.renewals && a.expiresAt === b.expiresAt;
}
