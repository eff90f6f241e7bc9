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
import { SpawnExtrasRepository } from '../../kernel/lifecycle/spawn-extras-repository.js';
import type { ProcessRow } from '../../kernel/process/process.js';
import { ProcessRepository, saveProcess } from '../../kernel/process/process-repository.js';
import { MemoryImageRegistry } from '../../runtime/image/image-registry.js';
import { NodeLease } from '../../runtime/node/node-lease.js';
import type { Act } from '../../unit/act.js';
import { CommandPlanner, type ParsedCommand, type PlannedCommand } from '../plan/command-planner.js';
import { CommandDrivers } from './command-drivers.js';
import { CommandRecorder } from './command-recorder.js';
import { launchOf } from './launch.js';

const claimableMax = 1_000;

/** A process that this node has claimed, with what is needed to start its program. */
interface ClaimedCommand {
  readonly row: ProcessRow;
  readonly spec: ParsedCommand;
  readonly plan: PlannedCommand;
  readonly token: string;
  readonly survive: boolean;
  readonly hasOutputLimit: boolean;
  readonly inheritedEnvironment: Readonly<Record<string, string>>;
}

/** Claims processes of command images that no node holds, and starts their programs. Woken by events, as the executor is. */
@injectable()
export class CommandClaimer {
  private subscriptions: Disposable[] = [];
  private eventSubscription: Disposable | undefined;

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(NodeLease) private readonly lease: NodeLease,
    @inject(EventFeed) private readonly feed: EventFeed,
    @inject(MemoryImageRegistry) private readonly images: MemoryImageRegistry,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(CommandRepository) private readonly commands: CommandRepository,
    @inject(SpawnExtrasRepository) private readonly spawnExtras: SpawnExtrasRepository,
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
    const images = this.images.listCommands();
    if (images.length === 0 || this.subscriptions.length === 0) return;
    if (this.eventSubscription === undefined) this.subscribe();
    try {
      const pids = await this.store.read((tx) => this.processes.findUnstarted(tx, images, claimableMax));
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
      const { row, spec, plan, token, survive, hasOutputLimit, inheritedEnvironment } = claimed;
      const launch = launchOf(spec, plan, this.planner.realFolder(spec.cwd ?? row.cwd), inheritedEnvironment, token);
      await this.drivers.start(driver, { row, token, survive, hasOutputLimit, isAwaited: false }, launch);
    } catch (error) {
      this.drivers.forget(driver);
      this.logger.error({ pid, error: String(error) }, 'a command could not be started');
      if (claimed !== undefined) await this.recordFailure(claimed.row, error);
    }
  }

  /** Ends a process whose program cannot be started, such as one whose folder is gone. */
  private async recordFailure(row: ProcessRow, error: unknown): Promise<void> {
    const evidence = { kind: 'not_started', errno: 'ENOENT', message: errorText(error).slice(0, 300) };
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
    const image = candidate === undefined || !isUnstarted(candidate) ? undefined : this.imageOf(candidate);
    if (candidate === undefined || image === undefined) return undefined;
    const spec = this.planner.specOf(image, candidate.args);
    const plan = await this.planner.planImage(image, candidate.args, null);
    return this.store.write(async (tx) => {
      const row = await this.processes.find(tx, pid);
      if (row === undefined || row.version !== candidate.version) return undefined;
      await this.lease.assertLive(tx);
      return this.writeClaim(tx, row, spec, plan);
    });
  }

  private async writeClaim(
    tx: WriteTx,
    row: ProcessRow,
    spec: ParsedCommand,
    plan: PlannedCommand,
  ): Promise<ClaimedCommand | undefined> {
    const command = await this.commands.find(tx, row.n);
    if (command === undefined) return undefined;
    const act: Act = { actor: 'kernel', via: `host:${this.node.operator}`, at: this.clock.now() };
    const claimed = { ...row, node: this.node.nodeId, version: row.version + 1, updatedAt: act.at };
    await saveProcess(this.processes, tx, claimed);
    this.commandRecorder.recordIntent(tx, act, claimed, command);
    // Only the program that was authorized when the process was created may be run.
    const isSameProgram = command.resource === plan.resource;
    const { file: _file, ...planWithoutFile } = plan;
    const { token, survive } = command;
    const hasOutputLimit = (await this.accounts.report(tx, row, act.at)).outputBytes.left !== null;
    return {
      row: claimed,
      spec,
      plan: isSameProgram ? plan : planWithoutFile,
      token,
      survive,
      hasOutputLimit,
      inheritedEnvironment: await this.inheritedEnvironment(tx, row),
    };
  }

  /** The variables that the parent and, over them, the process were spawned with. */
  private async inheritedEnvironment(tx: WriteTx, row: ProcessRow): Promise<Readonly<Record<string, string>>> {
    const parent = row.bornUnder === null ? undefined : await this.processes.find(tx, row.bornUnder);
    const environments = [];
    for (const hash of [parent?.env, row.env]) {
      if (typeof hash === 'string') environments.push(await this.spawnExtras.findEnvironment(tx, hash));
    }
    return Object.assign({}, ...environments);
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

function isUnstarted({ kind, status, node }: ProcessRow): boolean {
  return kind === 'command' && node === null && (status === 'created' || status === 'runnable');
}
