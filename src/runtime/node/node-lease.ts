import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { KernelError, ProcessError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import { Listeners } from '../../base/listeners.js';
import { Logger } from '../../base/logger.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { type ReadTx, Store, type WriteTx } from '../../base/store.js';
import { type NodeLeaseState, NodeRepository, type NodeRow } from '../../kernel/node/node-repository.js';
import type { Act } from '../../unit/act.js';
import type { AuditAction } from '../../unit/actions.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { OsProcesses } from '../os/os-processes.js';
import { NodeOffering } from './node-offering.js';
import { NodeSettings } from './node-settings.js';
import { OfferUpdates } from './offer-updates.js';
import { type ReleasedProcess, type ReleaseResult, Releases } from './releases.js';

/** The processes that a node has released with its lease. */
export interface RelinquishedProcesses {
  /** Runnable again, or paused. */
  readonly released: readonly Pid[];
  /** Ended, because their images are never run twice. */
  readonly abandoned: readonly Pid[];
  /** Were stopping, and have ended. */
  readonly stopped: readonly Pid[];
}

/**
 * The lease of this node: one row, renewed every third of `leaseMs`. Other nodes take this one for alive while the row
 * changes. Another node that ends its epoch releases its processes in the same commit. A lapsed lease whose epoch was not
 * ended is simply renewed.
 */
@injectable()
export class NodeLease {
  private epoch = 0;
  private acquired: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private renewing: Promise<void> | undefined;
  private readonly lostListeners = new Listeners();
  private readonly renewedListeners = new Listeners();
  private readonly failedListeners = new Listeners();

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(NodeRepository) private readonly nodes: NodeRepository,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(NodeSettings) private readonly settings: NodeSettings,
    @inject(OsProcesses) private readonly os: OsProcesses,
    @inject(NodeOffering) private readonly offering: NodeOffering,
    @inject(OfferUpdates) private readonly offerUpdates: OfferUpdates,
    @inject(Releases) private readonly releases: Releases,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  /**
   * Registers this node, the first time it is called, and renews its lease from then on. To be awaited before the node
   * holds a process or an effect, also in a kernel without an executor: without a lease, other nodes would release it.
   */
  acquire(): Promise<void> {
    this.acquired ??= this.registerAndRenew().catch((error: unknown) => {
      this.acquired = undefined;
      throw error;
    });
    return this.acquired;
  }

  private async registerAndRenew(): Promise<void> {
    this.epoch = await this.store.write(async (tx) => {
      const earlier = await this.nodes.find(tx, this.node.nodeId);
      return this.register(tx, this.clock.now(), earlier);
    });
    this.timer = setInterval(() => void this.renew(), this.settings.leaseMs / 3).unref();
    this.offerUpdates.start();
  }

  /** Whether this node has a lease whose epoch has not ended. */
  async isLive(tx: ReadTx): Promise<boolean> {
    return this.isCurrent(await this.nodes.findLease(tx, this.node.nodeId));
  }

  /** Throws LEASE_LOST when the epoch of this node was ended: it may claim nothing until it has registered again. */
  async assertLive(tx: ReadTx): Promise<void> {
    if (await this.isLive(tx)) return;
    const { epoch } = this;
    const { nodeId } = this.node;
    throw new ProcessError('LEASE_LOST', `Node ${nodeId} was given up: its epoch ${epoch} has ended.`, {
      facts: { node: nodeId, epoch },
      hint: 'Its processes are run by others now. It registers again by itself and goes on with new ones.',
      retryable: true,
    });
  }

  /** Calls `listener` when the epoch of this node was ended and it has registered again: its runs have lost their processes. */
  onLost(listener: () => void): Disposable {
    return this.lostListeners.add(listener);
  }

  /** Calls `listener` after each renewal. */
  onRenewed(listener: () => void): Disposable {
    return this.renewedListeners.add(listener);
  }

  /** Calls `listener` when a renewal has failed. */
  onFailed(listener: () => void): Disposable {
    return this.failedListeners.add(listener);
  }

  /** Releases everything that this node holds and ends its epoch, in one unit. The store must still be open. */
  async close(): Promise<RelinquishedProcesses> {
    if (this.acquired === undefined) return groupReleased([]);
    clearInterval(this.timer);
    await this.offerUpdates.stop();
    await this.renewing;
    try {
      return await this.store.write((tx) => this.giveUp(tx));
    } catch (error) {
      // The lease lapses, and another node recovers what this one holds.
      this.logger.error({ error: String(error) }, 'the lease of this node could not be ended');
      return groupReleased([]);
    }
  }

  /** Renews the lease now, if this node has one. */
  async renewHeld(): Promise<void> {
    if (this.acquired !== undefined) await this.renew();
  }

  /** Renews the lease now; several calls at once are one renewal. */
  renew(): Promise<void> {
    this.renewing ??= this.renewOnce()
      .catch((error: unknown) => this.onRenewalFailure(error))
      .finally(() => {
        this.renewing = undefined;
      });
    return this.renewing;
  }

  private async renewOnce(): Promise<void> {
    const epoch = await this.store.write((tx) => this.extend(tx));
    const isLost = epoch !== this.epoch;
    this.epoch = epoch;
    if (isLost) this.lostListeners.notify();
    this.renewedListeners.notify();
  }

  /** Answers with the current epoch. Peeks at the clock: renewals must not advance a seeded one. */
  private async extend(tx: WriteTx): Promise<number> {
    const { nodeId } = this.node;
    if (!this.isCurrent(await this.nodes.findLease(tx, nodeId)))
      return this.registerAgain(tx, await this.nodes.find(tx, nodeId));
    await this.nodes.renew(tx, nodeId, this.clock.peek() + this.settings.leaseMs);
    return this.epoch;
  }

  private async registerAgain(tx: WriteTx, row: NodeRow | undefined): Promise<number> {
    const at = this.clock.now();
    const epoch = await this.register(tx, at, row);
    this.recorder.recordEvent(tx, { type: 'node.started', at, data: { name: this.settings.name ?? '' } });
    this.audit(tx, at, 'node.start', { epoch });
    return epoch;
  }

  /** Begins the next epoch of the node id, and releases what earlier epochs held. */
  private async register(tx: WriteTx, at: number, earlier: NodeRow | undefined): Promise<number> {
    const { nodeId } = this.node;
    const { name, leaseMs } = this.settings;
    const epoch = Math.max(this.epoch, earlier?.epoch ?? 0) + 1;
    await this.releases.releaseAll(tx, this.kernelAct(at), nodeId, 'restarted');
    await this.nodes.put(tx, {
      id: nodeId,
      name,
      epoch,
      expiresAt: at + leaseMs,
      leaseMs,
      renewals: 0,
      offers: this.offering.offers,
      host: this.os.self(),
      startedAt: at,
      endedAt: null,
    });
    return epoch;
  }

  private async giveUp(tx: WriteTx): Promise<RelinquishedProcesses> {
    const { nodeId } = this.node;
    const row = await this.nodes.find(tx, nodeId);
    if (row === undefined || !this.isCurrent(row)) return groupReleased([]);
    const at = this.clock.now();
    const all = groupReleased(await this.releases.releaseAll(tx, this.kernelAct(at), nodeId, 'shutdown'));
    await this.nodes.put(tx, { ...row, endedAt: at });
    const counts = { released: all.released.length, abandoned: all.abandoned.length };
    this.recorder.recordEvent(tx, { type: 'node.stopped', at, data: { node: nodeId, ...counts } });
    this.audit(tx, at, 'node.stop', { ...counts, stopped: all.stopped.length });
    return all;
  }

  private isCurrent(row: NodeLeaseState | undefined): boolean {
    return row !== undefined && row.endedAt === null && row.epoch === this.epoch;
  }

  private onRenewalFailure(error: unknown): void {
    this.logger.error({ error: String(error) }, 'the lease of this node could not be renewed');
    this.failedListeners.notify();
    if (error instanceof KernelError && error.code === 'KERNEL_CLOSED') clearInterval(this.timer);
  }

  private kernelAct(at: number): Act {
    return { actor: 'kernel', via: `host:${this.node.operator}`, at };
  }

  private audit(tx: WriteTx, at: number, action: AuditAction, facts: Record<string, number>): void {
    const { nodeId, operator } = this.node;
    this.recorder.recordAudit(tx, {
      actor: 'host',
      via: `host:${operator}`,
      at,
      action,
      outcome: 'ok',
      target: nodeId,
      facts,
    });
  }
}

function groupReleased(released: readonly ReleasedProcess[]): RelinquishedProcesses {
  const pids = (...kinds: ReleaseResult[]) =>
    released.flatMap(({ pid, result }) => (kinds.includes(result) ? [pid] : []));
  return { released: pids('rerun', 'paused'), abandoned: pids('abandoned'), stopped: pids('stopped') };
}
