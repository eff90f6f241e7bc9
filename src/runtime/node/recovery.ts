import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { NodeId } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import { Logger } from '../../base/logger.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { type ReadTx, Store, type WriteTx } from '../../base/store.js';
import { EffectRepository } from '../../kernel/effect/effect-repository.js';
import { NodeRepository, type NodeRow } from '../../kernel/node/node-repository.js';
import { ProcessRepository } from '../../kernel/process/process-repository.js';
import type { Act } from '../../unit/act.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { OsProcesses } from '../os/host-identity.js';
import { CommandRecovery } from './command-recovery.js';
import { NodeLease } from './node-lease.js';
import { isNothing, noneRecovered, type RecoveryReport, sumOf, tally } from './recovery-report.js';
import { type ReleaseReason, Releases } from './releases.js';

/** A node that is to be given up, and why. */
interface Lost {
  readonly node: NodeRow;
  readonly reason: Extract<ReleaseReason, 'lapsed' | 'dead'>;
}

/**
 * Gives up nodes that are gone, with everything they hold, each in one unit: their processes can be claimed when it
 * commits. Two nodes may find the same one; the unit looks again, so one of them does it and the other nothing.
 */
@injectable()
export class Recovery {
  private total: RecoveryReport = noneRecovered;
  private subscriptions: Disposable[] = [];
  private running: Promise<void> | undefined;

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(NodeRepository) private readonly nodes: NodeRepository,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(EffectRepository) private readonly effects: EffectRepository,
    @inject(NodeIdentity) private readonly self: NodeIdentity,
    @inject(NodeLease) private readonly lease: NodeLease,
    @inject(OsProcesses) private readonly os: OsProcesses,
    @inject(Releases) private readonly releases: Releases,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(CommandRecovery) private readonly commands: CommandRecovery,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  /** What was recovered since the kernel was opened. */
  get report(): RecoveryReport {
    return this.total;
  }

  /** Recovers what is to be recovered now, and then whenever this node renews its lease. */
  async start(): Promise<void> {
    await this.recoverMissing();
    await this.run();
    await this.recoverOwn();
    this.subscriptions = [this.lease.onRenewed(() => void this.run()), this.lease.onLost(() => void this.recoverOwn())];
  }

  async stop(): Promise<void> {
    for (const subscription of this.subscriptions) subscription[Symbol.dispose]();
    await this.running;
  }

  /** Gives up every other node whose lease has lapsed or whose program is gone. Changes nothing when there is none. */
  run(): Promise<void> {
    this.running ??= this.sweep().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  private async sweep(): Promise<void> {
    try {
      const { live, ended } = await this.store.read(async (tx) => ({
        live: await this.nodes.live(tx),
        ended: await this.ended(tx),
      }));
      for (const lost of live.flatMap((node) => this.judge(node))) {
        if (await this.recover(lost)) ended.push(lost.node.id);
      }
      await this.recoverCommands(ended);
    } catch (error) {
      this.logger.error({ error: String(error) }, 'nodes that are gone could not be given up');
    }
  }

  private judge(node: NodeRow): Lost[] {
    if (node.id === this.self.nodeId) return [];
    if (this.hasLapsed(node)) return [{ node, reason: 'lapsed' }];
    return this.os.isAlive(node.host) === false ? [{ node, reason: 'dead' }] : [];
  }

  /** Only looks at the clock: a look that finds nothing must not move a seeded one. */
  private hasLapsed({ expiresAt }: NodeRow): boolean {
    return expiresAt < this.clock.peek();
  }

  /** Answers whether its epoch has ended, by whomever. */
  private async recover({ node, reason }: Lost): Promise<boolean> {
    const { isEnded, recovered } = await this.store.write(async (tx) => {
      const now = await this.nodes.find(tx, node.id);
      const none = { isEnded: now === undefined || now.endedAt !== null, recovered: noneRecovered };
      if (now === undefined || now.endedAt !== null || now.epoch !== node.epoch) return none;
      // A program that is gone stays gone; a lease may have been renewed meanwhile.
      if (reason === 'lapsed' && !this.hasLapsed(now)) return none;
      const act = this.act();
      await this.nodes.put(tx, { ...now, endedAt: act.at });
      const { id, epoch } = now;
      this.recorder.event(tx, { type: 'node.lapsed', at: act.at, data: { node: id, epoch, reason } });
      const counts = tally(await this.releases.releaseAll(tx, act, id, reason));
      this.tell(tx, act, id, { epoch, reason, ...counts });
      return { isEnded: true, recovered: counts };
    });
    this.total = sumOf(this.total, recovered);
    return isEnded;
  }

  /** What is held by nodes that have ended, or that nobody knows: such as after a restored copy of the database. */
  private async recoverMissing(): Promise<void> {
    try {
      const holders = await this.store.read(async (tx) => [
        ...(await this.processes.holders(tx)),
        ...(await this.effects.nodes(tx)),
      ]);
      for (const holder of new Set(holders)) {
        const recovered = await this.store.write((tx) => this.releaseMissing(tx, holder));
        this.total = sumOf(this.total, recovered);
      }
    } catch (error) {
      this.logger.error({ error: String(error) }, 'processes of nodes that are gone could not be released');
    }
  }

  /**
   * The commands of nodes that have ended. What cannot be judged is looked at again, since it may end; it is counted by the
   * first look.
   */
  private async recoverCommands(nodes: readonly NodeId[]): Promise<void> {
    for (const holder of nodes) {
      const recovered = await this.commands.recover(holder);
      if (!isNothing(recovered))
        await this.store.write(async (tx) => this.tell(tx, this.act(), holder, { ...recovered }));
      this.total = sumOf(this.total, recovered);
    }
  }

  /** What this node held before it was given up, or in an earlier life under the same id, and nobody else has taken. */
  private async recoverOwn(): Promise<void> {
    try {
      await this.recoverCommands([this.self.nodeId]);
    } catch (error) {
      this.logger.error({ error: String(error) }, 'commands that this node has lost could not be taken back');
    }
  }

  /** The nodes that hold something and have ended, or that nobody knows. */
  private async ended(tx: ReadTx): Promise<NodeId[]> {
    const ended: NodeId[] = [];
    for (const holder of await this.processes.holders(tx)) {
      const node = await this.nodes.find(tx, holder);
      if (node === undefined || node.endedAt !== null) ended.push(holder);
    }
    return ended;
  }

  private async releaseMissing(tx: WriteTx, holder: NodeId): Promise<RecoveryReport> {
    const node = await this.nodes.find(tx, holder);
    if (node !== undefined && node.endedAt === null) return noneRecovered;
    const act = this.act();
    const released = await this.releases.releaseAll(tx, act, holder, 'missing');
    const counts = tally(released);
    const isChanged = released.some((each) => each.released !== 'left');
    if (isChanged) this.tell(tx, act, holder, { reason: 'missing', ...counts });
    return counts;
  }

  private tell(tx: WriteTx, act: Act, node: NodeId, facts: JsonObject): void {
    this.recorder.event(tx, { type: 'node.recovered', at: act.at, data: { node, ...facts } });
    this.recorder.audit(tx, { ...act, action: 'node.recover', outcome: 'ok', target: node, facts });
  }

  private act(): Act {
    return { actor: 'kernel', via: `host:${this.self.operator}`, at: this.clock.now() };
  }
}
