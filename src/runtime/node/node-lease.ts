import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { KernelError, ProcessError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import { Listeners } from '../../base/listeners.js';
import { Logger } from '../../base/logger.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { type ReadTx, Store, type WriteTx } from '../../base/store.js';
import { NodeRepository, type NodeRow } from '../../kernel/node/node-repository.js';
import type { Act } from '../../unit/act.js';
import type { AuditAction } from '../../unit/actions.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { OsProcesses } from '../os/host-identity.js';
import { NodeSettings } from './node-settings.js';
import { type Released, type ReleasedProcess, Releases } from './releases.js';

/** What a node gave up when it stopped. */
export interface Relinquished {
  /** To be run by another node, or paused. */
  readonly released: readonly Pid[];
  /** Ended, since they are never run twice. */
  readonly abandoned: readonly Pid[];
  /** Were being stopped already, and have ended. */
  readonly stopped: readonly Pid[];
}

/**
 * The one lease of this node, whatever it runs: a row that says until when others believe it to be alive. Whoever ends
 * its epoch takes its processes in the same commit; a lease that has lapsed and that nobody has ended is renewed.
 */
@injectable()
export class NodeLease {
  private epoch = 0;
  private held: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private renewing: Promise<void> | undefined;
  private readonly lostListeners = new Listeners();
  private readonly renewedListeners = new Listeners();

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(NodeRepository) private readonly nodes: NodeRepository,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(NodeSettings) private readonly settings: NodeSettings,
    @inject(OsProcesses) private readonly os: OsProcesses,
    @inject(Releases) private readonly releases: Releases,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  /**
   * Registers this node, when it has not been, and renews its lease from then on: whoever carries something out that
   * others would otherwise take for left behind holds one, also without an executor.
   */
  hold(): Promise<void> {
    this.held ??= this.start().catch((error: unknown) => {
      this.held = undefined;
      throw error;
    });
    return this.held;
  }

  private async start(): Promise<void> {
    this.epoch = await this.store.write(async (tx) => {
      const earlier = await this.nodes.find(tx, this.node.nodeId);
      return this.register(tx, this.clock.now(), earlier);
    });
    this.timer = setInterval(() => this.renew(), this.settings.leaseMs / 3).unref();
  }

  /** Throws LEASE_LOST when somebody has ended the epoch of this node: it must claim nothing until it has a new one. */
  async assertLive(tx: ReadTx): Promise<void> {
    const { nodeId } = this.node;
    if (this.isHeld(await this.nodes.find(tx, nodeId))) return;
    const { epoch } = this;
    throw new ProcessError('LEASE_LOST', `Node ${nodeId} was given up: its epoch ${epoch} has ended.`, {
      facts: { node: nodeId, epoch },
      hint: 'Its processes are run by others now. It registers again by itself and goes on with new ones.',
      retryable: true,
    });
  }

  /** `listener` is called when this node was given up and has registered again. What it ran is not its own any more. */
  onLost(listener: () => void): Disposable {
    return this.lostListeners.add(listener);
  }

  /** `listener` is called after each renewal: a good time to look after the leases of others. */
  onRenewed(listener: () => void): Disposable {
    return this.renewedListeners.add(listener);
  }

  /** Gives up, in one unit, everything that this node holds, and the lease itself. The store must still be open. */
  async close(): Promise<Relinquished> {
    if (this.held === undefined) return givenUp([]);
    clearInterval(this.timer);
    await this.renewing;
    try {
      return await this.store.write((tx) => this.stop(tx));
    } catch (error) {
      // The lease lapses, and whoever finds it so does the rest.
      this.logger.error({ error: String(error) }, 'the lease of this node could not be given back');
      return givenUp([]);
    }
  }

  private renew(): void {
    this.renewing ??= this.renewOnce()
      .catch((error: unknown) => this.renewalFailed(error))
      .finally(() => {
        this.renewing = undefined;
      });
  }

  private async renewOnce(): Promise<void> {
    const epoch = await this.store.write((tx) => this.prolong(tx));
    const isLost = epoch !== this.epoch;
    this.epoch = epoch;
    if (isLost) this.lostListeners.notify();
    this.renewedListeners.notify();
  }

  /** Answers with the epoch that holds from here on. Only looks at the clock: renewals must not move a seeded one. */
  private async prolong(tx: WriteTx): Promise<number> {
    const row = await this.nodes.find(tx, this.node.nodeId);
    if (row === undefined || !this.isHeld(row)) return this.registerAgain(tx, row);
    await this.nodes.put(tx, { ...row, expiresAt: this.clock.peek() + this.settings.leaseMs });
    return row.epoch;
  }

  private async registerAgain(tx: WriteTx, row: NodeRow | undefined): Promise<number> {
    const at = this.clock.now();
    const epoch = await this.register(tx, at, row);
    this.recorder.event(tx, { type: 'node.started', at, data: { name: this.settings.name ?? '' } });
    this.record(tx, at, 'node.start', { epoch });
    return epoch;
  }

  /** An id that was used before is a new epoch, and what was held under it is not held any more. */
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
      host: this.os.self(),
      startedAt: at,
      endedAt: null,
    });
    return epoch;
  }

  private async stop(tx: WriteTx): Promise<Relinquished> {
    const { nodeId } = this.node;
    const row = await this.nodes.find(tx, nodeId);
    if (row === undefined || !this.isHeld(row)) return givenUp([]);
    const at = this.clock.now();
    const all = givenUp(await this.releases.releaseAll(tx, this.kernelAct(at), nodeId, 'shutdown'));
    await this.nodes.put(tx, { ...row, endedAt: at });
    const counts = { released: all.released.length, abandoned: all.abandoned.length };
    this.recorder.event(tx, { type: 'node.stopped', at, data: { node: nodeId, ...counts } });
    this.record(tx, at, 'node.stop', { ...counts, stopped: all.stopped.length });
    return all;
  }

  private isHeld(row: NodeRow | undefined): boolean {
    return row !== undefined && row.endedAt === null && row.epoch === this.epoch;
  }

  private renewalFailed(error: unknown): void {
    this.logger.error({ error: String(error) }, 'the lease of this node could not be renewed');
    if (error instanceof KernelError && error.code === 'KERNEL_CLOSED') clearInterval(this.timer);
  }

  private kernelAct(at: number): Act {
    return { actor: 'kernel', via: `host:${this.node.operator}`, at };
  }

  private record(tx: WriteTx, at: number, action: AuditAction, facts: Record<string, number>): void {
    const { nodeId, operator } = this.node;
    this.recorder.audit(tx, {
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

function givenUp(all: readonly ReleasedProcess[]): Relinquished {
  const pids = (...kinds: Released[]) => all.flatMap(({ pid, released }) => (kinds.includes(released) ? [pid] : []));
  return { released: pids('rerun', 'paused'), abandoned: pids('abandoned'), stopped: pids('stopped') };
}
