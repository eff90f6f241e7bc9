import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { errorText, KernelError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import { Logger } from '../../base/logger.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { Store, type WriteTx } from '../../base/store.js';
import type { KernelEvent } from '../../events/event.js';
import { EventFeed } from '../../events/event-feed.js';
import { Accounts } from '../../kernel/budget/accounts.js';
import { CommandRepository } from '../../kernel/command/command-repository.js';
import { InheritedEnvironments } from '../../kernel/command/inherited-environments.js';
import { ClaimRepository } from '../../kernel/process/claim-repository.js';
import type { ProcessRow } from '../../kernel/process/process.js';
import { ProcessRepository, saveProcess } from '../../kernel/process/process-repository.js';
import { MemoryImageRegistry } from '../../runtime/image/image-registry.js';
import { NodeLease } from '../../runtime/node/node-lease.js';
import { NodeOffering } from '../../runtime/node/node-offering.js';
import type { Act } from '../../unit/act.js';
import { CommandPlanner } from '../plan/command-planner.js';
import type { PlannedCommand } from '../plan/planned-command.js';
import { CommandDrivers } from './command-drivers.js';
import { CommandRecorder } from './command-recorder.js';
import { type LaunchFailure, launchOf } from './launch.js';

const claimableMax = 1_000;

/** A process that this node has claimed, with what is needed to start its program. */
interface ClaimedCommand {
  readonly row: ProcessRow;
  readonly plan: PlannedCommand;
  /** Whether it is the command that was decided on when the process was created. */
  readonly isAsDecided: boolean;
  readonly token: string;
  readonly survive: boolean;
  readonly hasOutputLimit: boolean;
}

/** Claims processes of command images that no node holds, from the queues of this node, and starts their programs. Woken by events, as the executor is. */
@injectable()
export class CommandClaimer {
  private subscriptions: Disposable[] = [];
  private eventSubscription: Disposable | undefined;

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(NodeLease) private readonly lease: NodeLease,
    @inject(NodeOffering) private readonly offering: NodeOffering,
    @inject(EventFeed) private readonly feed: EventFeed,
    @inject(MemoryImageRegistry) private readonly images: MemoryImageRegistry,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(ClaimRepository) private readonly claimable: ClaimRepository,
    @inject(CommandRepository) private readonly commands: CommandRepository,
    @inject(InheritedEnvironments) private readonly environments: InheritedEnvironments,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(CommandPlanner) private readonly planner: CommandPlanner,
    @inject(CommandRecorder) private readonly commandRecorder: CommandRecorder,
    @inject(CommandDrivers) private readonly drivers: CommandDrivers,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  async start(): Promise<void> {
    this.subscriptions = [
      this.lease.onRenewed(() => void this.scanUnstarted()),
      this.images.onRegister(() => void this.scanUnstarted()),
    ];
    await this.scanUnstarted();
  }

  /** Reacts to events from the registration of the first command image on. */
  private subscribe(): void {
    const onCreated = ({ pid = '', data }: KernelEvent<'process.spawned' | 'process.forked'>) => {
      if (data.kind === 'command') void this.claim(pid);
    };
    const onRunnable = ({ pid = '' }: KernelEvent) => void this.claim(pid);
    this.eventSubscription = this.feed.subscribe('commandClaims', {
      'process.spawned': onCreated,
      'process.forked': onCreated,
      'process.execed': onRunnable,
      'process.resumed': onRunnable,
    });
    this.subscriptions.push(this.eventSubscription);
  }

  stop(): void {
    for (const subscription of this.subscriptions.splice(0)) subscription[Symbol.dispose]();
  }

  /** Claims processes without an event: those that are older than this node, or than the registration of their image. */
  private async scanUnstarted(): Promise<void> {
    const { claimableCommands } = this.offering;
    if (claimableCommands.images.length === 0 || this.subscriptions.length === 0) return;
    if (this.eventSubscription === undefined) this.subscribe();
    try {
      const pids = await this.store.read((tx) => this.claimable.findUnstarted(tx, claimableCommands, claimableMax));
      for (const pid of pids) await this.claim(pid);
    } catch (error) {
      this.logger.error({ error: String(error) }, 'unstarted commands could not be read');
    }
  }

  private async claim(pid: Pid): Promise<void> {
    if (this.drivers.has(pid)) return;
    const driver = this.drivers.register(pid);
    let claimed: ClaimedCommand | undefined;
    try {
      claimed = await this.tryClaim(pid);
      if (claimed === undefined) return this.drivers.forget(driver);
      const { row, plan, isAsDecided, token, survive, hasOutputLimit } = claimed;
      if (!isAsDecided) {
        this.drivers.forget(driver);
        await this.recordFailure(row, commandChanged);
        return;
      }
      const launch = launchOf(plan, this.planner.realFolder(plan.spec.cwd ?? row.cwd));
      await this.drivers.start(driver, { row, token, survive, hasOutputLimit, isAwaited: false }, launch);
    } catch (error) {
      this.drivers.forget(driver);
      this.logger.error({ pid, error: String(error) }, 'a command could not be started');
      const reason = { errno: 'ENOENT', message: errorText(error).slice(0, 300) };
      if (claimed !== undefined) await this.recordFailure(claimed.row, reason);
    }
  }

  /** Ends a process whose program cannot be started, such as one whose folder is gone. */
  private async recordFailure(row: ProcessRow, reason: LaunchFailure): Promise<void> {
    const evidence = { kind: 'not_started', ...reason };
    await this.commandRecorder.recordNotStarted(row, evidence).catch((failure: unknown) => {
      this.logger.error(
        { pid: row.pid, error: String(failure) },
        'that a command was not started could not be recorded',
      );
    });
  }

  /** Undefined when the process cannot be claimed. */
  private async tryClaim(pid: Pid): Promise<ClaimedCommand | undefined> {
    const candidate = await this.store.read((tx) => this.processes.find(tx, pid));
    if (candidate === undefined || !isUnstarted(candidate) || !this.offering.servesQueueOf(candidate)) return undefined;
    const image = this.imageOf(candidate);
    if (image === undefined) return undefined;
    const plan = this.planner.planImage(image, candidate.args, null, await this.environments.ofImage(pid));
    return this.store.write(async (tx) => {
      const row = await this.processes.find(tx, pid);
      if (row === undefined || row.version !== candidate.version) return undefined;
      await this.lease.assertLive(tx);
      return this.writeClaim(tx, row, plan);
    });
  }

  private async writeClaim(tx: WriteTx, row: ProcessRow, plan: PlannedCommand): Promise<ClaimedCommand | undefined> {
    const command = await this.commands.find(tx, row.n);
    if (command === undefined) return undefined;
    const act: Act = { actor: 'kernel', via: `host:${this.node.operator}`, at: this.clock.now() };
    const claimed = { ...row, node: this.node.nodeId, version: row.version + 1, updatedAt: act.at };
    await saveProcess(this.processes, tx, claimed);
    await this.commandRecorder.recordIntent(tx, act, claimed, command, plan.shownEnvironment);
    const { token, survive, resource, argsHash } = command;
    const hasOutputLimit = (await this.accounts.report(tx, row, act.at)).outputBytes.left !== null;
    // Rows of earlier releases have no hash.
    const isAsDecided = resource === plan.resource && (argsHash === null || argsHash === plan.argsHash);
    return { row: claimed, plan, isAsDecided, token, survive, hasOutputLimit };
  }

  private imageOf({ image }: ProcessRow) {
    try {
      const facts = this.images.resolve(image);
      return facts.command === undefined ? undefined : facts;
    } catch (error) {
      if (error instanceof KernelError) return undefined;
      throw error;
    }
  }
}

/** Of an image that has changed since, or makes its command from something that has. */
const commandChanged: LaunchFailure = {
  errno: 'COMMAND_CHANGED',
  message: 'It was not run, because it is not the command that was decided on when its process was created.',
};

function isUnstarted({ kind, status, node }: ProcessRow): boolean {
  return kind === 'command' && node === null && (status === 'created' || status === 'runnable');
}
