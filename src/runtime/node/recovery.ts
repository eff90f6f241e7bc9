import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { KernelError } from '../../base/errors.js';
import type { NodeId } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import { Logger } from '../../base/logger.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { type ReadTx, Store, type WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import { EffectRepository } from '../../kernel/effect/effect-repository.js';
import { NodeRepository, type NodeRow } from '../../kernel/node/node-repository.js';
import { ProcessRepository } from '../../kernel/process/process-repository.js';
import type { Act } from '../../unit/act.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { NodeLease } from './node-lease.js';
import { NodeSettings } from './node-settings.js';
import { isSameState, type LossReason, NodeWatch } from './node-watch.js';
import { addReports, countReleased, emptyReport, isEmptyReport, type RecoveryReport } from './recovery-report.js';
import { Releases } from './releases.js';

/** Recovers the commands of a node that is gone: they are programs of their own, and may still run. */
export interface CommandRecovery {
  /** Decides for each by what the operating system knows of it. To be called after the epoch of `node` has ended. */
  recover(node: NodeId): Promise<RecoveryReport>;
}
export const CommandRecovery: Token<CommandRecovery> = token('CommandRecovery');

/**
 * Ends the epochs of nodes that are gone, and releases everything they hold. Each node is one unit: its processes can be
 * claimed as soon as it commits. Of several nodes that find the same one gone, exactly one recovers it, because the unit
 * checks again.
 */
@injectable()
export class Recovery {
  private total: RecoveryReport = emptyReport;
  private subscriptions: Disposable[] = [];
  private running: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(NodeRepository) private readonly nodes: NodeRepository,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(EffectRepository) private readonly effects: EffectRepository,
    @inject(NodeIdentity) private readonly self: NodeIdentity,
    @inject(NodeLease) private readonly lease: NodeLease,
    @inject(NodeSettings) private readonly settings: NodeSettings,
    @inject(NodeWatch) private readonly watch: NodeWatch,
    @inject(Releases) private readonly releases: Releases,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(CommandRecovery) private readonly commands: CommandRecovery,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  /** Counts since the kernel was opened. */
  get report(): RecoveryReport {
    return this.total;
  }

  /** Recovers now, and from then on six times in a lease period. To be called when this node has its lease. */
  async start(): Promise<void> {
    this.watch.onOwnRenewal();
    await this.releaseOrphans();
    await this.recoverLostNodes();
    await this.recoverOwnCommands();
    this.subscriptions = [
      this.lease.onRenewed(() => this.watch.onOwnRenewal()),
      this.lease.onFailed(() => this.watch.onFailure()),
      this.lease.onLost(() => void this.recoverOwnCommands()),
    ];
    this.timer = setInterval(() => void this.recoverLostNodes(), this.settings.leaseMs / 6).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    for (const subscription of this.subscriptions) subscription[Symbol.dispose]();
    await this.running;
  }

  /** Recovers every other node that is gone, as far as is known now. Writes nothing when there is none. */
  recoverLostNodes(): Promise<void> {
    this.running ??= this.sweep().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  private async sweep(): Promise<void> {
    try {
      const { live, ended } = await this.store.read(async (tx) => ({
        live: await this.nodes.findLive(tx),
        ended: await this.filterEnded(tx, await this.processes.findNodes(tx)),
      }));
      for (const { node, reason } of this.watch.findGone(live)) {
        if (await this.recoverNode(node, reason)) ended.push(node.id);
      }
      await this.recoverCommands(ended);
    } catch (error) {
      if (error instanceof KernelError && error.code === 'KERNEL_CLOSED') return clearInterval(this.timer);
      this.watch.onFailure();
      this.logger.error({ error: String(error) }, 'nodes that are gone could not be recovered');
    }
  }

  /** Answers whether the epoch of the node has ended, by this unit or another node's. */
  private async recoverNode(node: NodeRow, reason: LossReason): Promise<boolean> {
    const { isEnded, recovered } = await this.store.write(async (tx) => {
      const current = await this.nodes.find(tx, node.id);
      const unchanged = { isEnded: current === undefined || current.endedAt !== null, recovered: emptyReport };
      if (current === undefined || current.endedAt !== null || current.epoch !== node.epoch) return unchanged;
      // A lease may have been renewed since it was read. A program that is gone stays gone.
      if (reason === 'lapsed' && !isSameState(current, node)) return unchanged;
      const act = this.act();
      await this.nodes.put(tx, { ...current, endedAt: act.at });
      const { id, epoch } = current;
      this.recorder.recordEvent(tx, { type: 'node.lapsed', at: act.at, data: { node: id, epoch, reason } });
      const counts = countReleased(await this.releases.releaseAll(tx, act, id, reason));
      this.recordRecovery(tx, act, id, { epoch, reason, ...counts });
      return { isEnded: true, recovered: counts };
    });
    this.total = addReports(this.total, recovered);
    if (isEnded) this.logger.warn({ node: node.id, reason }, 'a node was given up');
    return isEnded;
  }

  /** Releases what is held by nodes that have ended or have no row, as after restoring a copy of the database. */
  private async releaseOrphans(): Promise<void> {
    try {
      const holders = await this.store.read(async (tx) => {
        const all = [...(await this.processes.findNodes(tx)), ...(await this.effects.findNodes(tx))];
        return this.filterEnded(tx, [...new Set(all)]);
      });
      for (const holder of holders) {
        const recovered = await this.store.write((tx) => this.releaseOrphansOf(tx, holder));
        this.total = addReports(this.total, recovered);
      }
    } catch (error) {
      this.logger.error({ error: String(error) }, 'processes of nodes that are gone could not be released');
    }
  }

  /**
   * Recovers the commands of nodes that have ended. One whose state cannot be proven is checked again with every scan, and
   * counted once.
   */
  private async recoverCommands(nodes: readonly NodeId[]): Promise<void> {
    for (const holder of nodes) {
      const recovered = await this.commands.recover(holder);
      if (!isEmptyReport(recovered))
        await this.store.write(async (tx) => this.recordRecovery(tx, this.act(), holder, { ...recovered }));
      this.total = addReports(this.total, recovered);
    }
  }

  /** Recovers commands of earlier epochs of this node that no other node has recovered. */
  private async recoverOwnCommands(): Promise<void> {
    try {
      await this.recoverCommands([this.self.nodeId]);
    } catch (error) {
      this.logger.error({ error: String(error) }, 'commands of an earlier epoch of this node could not be recovered');
    }
  }

  /** Those that have ended, or have no row. */
  private async filterEnded(tx: ReadTx, ids: readonly NodeId[]): Promise<NodeId[]> {
    const nodes = new Map((await this.nodes.findAll(tx, ids)).map((node) => [node.id, node]));
    return ids.filter((id) => nodes.get(id)?.endedAt !== null);
  }

  private async releaseOrphansOf(tx: WriteTx, holder: NodeId): Promise<RecoveryReport> {
    const node = await this.nodes.find(tx, holder);
    if (node !== undefined && node.endedAt === null) return emptyReport;
    const act = this.act();
    const released = await this.releases.releaseAll(tx, act, holder, 'missing');
    const counts = countReleased(released);
    const isChanged = released.some(({ result }) => result !== 'unchanged');
    if (isChanged) this.recordRecovery(tx, act, holder, { reason: 'missing', ...counts });
    return counts;
  }

  private recordRecovery(tx: WriteTx, act: Act, node: NodeId, facts: JsonObject): void {
    this.recorder.recordEvent(tx, { type: 'node.recovered', at: act.at, data: { node, ...facts } });
    this.recorder.recordAudit(tx, { ...act, action: 'node.recover', outcome: 'ok', target: node, facts });
  }

  private act(): Act {
    return { actor: 'kernel', via: `host:${this.self.operator}`, at: this.clock.now() };
  }
}
