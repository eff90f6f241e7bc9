import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { errorText } from '../../base/error-text.js';
import { KernelError } from '../../base/errors.js';
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
import { ProcessRepository } from '../../kernel/process/process-repository.js';
import { conflict } from '../../kernel/process/transitions.js';
import { MemoryImageRegistry } from '../../runtime/image/image-registry.js';
import { NodeLease } from '../../runtime/node/node-lease.js';
import type { Act } from '../../unit/act.js';
import { CommandPlanner, type ParsedCommand, type PlannedCommand } from '../plan/command-planner.js';
import { CommandDrivers } from './command-drivers.js';
import { CommandRecords } from './command-records.js';
import { environmentFor, launchOf } from './command-runner.js';

const claimableMax = 1_000;

interface Claimed {
  readonly row: ProcessRow;
  readonly spec: ParsedCommand;
  readonly plan: PlannedCommand;
  readonly token: string;
  readonly survive: boolean;
  readonly isLimited: boolean;
  readonly inherited: Readonly<Record<string, string>>;
}

/** Takes processes of command images that nobody drives, and starts them. Commits wake it, as they do the executor. */
@injectable()
export class CommandClaims {
  private subscriptions: Disposable[] = [];

  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(NodeLease) private readonly lease: NodeLease,
    @inject(EventFeed) private readonly feed: EventFeed,
    @inject(MemoryImageRegistry) private readonly images: MemoryImageRegistry,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(CommandRepository) private readonly commands: CommandRepository,
    @inject(SpawnExtrasRepository) private readonly environments: SpawnExtrasRepository,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(CommandPlanner) private readonly planner: CommandPlanner,
    @inject(CommandRecords) private readonly records: CommandRecords,
    @inject(CommandDrivers) private readonly drivers: CommandDrivers,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  async start(): Promise<void> {
    const created = ({ pid = '', data }: KernelEvent<'process.spawned' | 'process.forked'>) => {
      if (data.kind === 'command') this.consider(pid);
    };
    this.subscriptions = [
      this.feed.subscribe('commandClaims', {
        'process.spawned': created,
        'process.forked': created,
        'process.execed': ({ pid = '' }) => this.consider(pid),
        'process.resumed': ({ pid = '' }) => this.consider(pid),
      }),
      this.lease.onRenewed(() => void this.scanUnstarted()),
    ];
    this.images.onRegister(() => void this.scanUnstarted());
    await this.scanUnstarted();
  }

  stop(): void {
    for (const subscription of this.subscriptions.splice(0)) subscription[Symbol.dispose]();
  }

  private consider(pid: Pid): void {
    if (this.images.commands().length > 0) void this.claim(pid);
  }

  /** What the feed has not told: what was there before this node, or its image. */
  private async scanUnstarted(): Promise<void> {
    const images = this.images.commands();
    if (images.length === 0 || this.subscriptions.length === 0) return;
    try {
      const found = await this.store.read((tx) => this.processes.unstarted(tx, images, claimableMax));
      for (const pid of found) await this.claim(pid);
    } catch (error) {
      this.logger.error({ error: String(error) }, 'commands to be started could not be looked for');
    }
  }

  private async claim(pid: Pid): Promise<void> {
    if (this.drivers.has(pid)) return;
    const driver = this.drivers.prepare(pid);
    let claimed: Claimed | undefined;
    try {
      claimed = await this.claimed(pid);
      if (claimed === undefined) return this.drivers.forget(driver);
      const { row, spec, plan, token, survive, isLimited, inherited } = claimed;
      const launch = launchOf(
        spec,
        plan,
        this.planner.folder(spec.cwd ?? row.cwd),
        environmentFor(spec, inherited, token),
      );
      await this.drivers.start(driver, { row, token, survive, isLimited, isAwaited: false }, launch);
    } catch (error) {
      this.drivers.forget(driver);
      this.logger.error({ pid, error: String(error) }, 'a command could not be started');
      if (claimed !== undefined) await this.failed(claimed.row, error);
    }
  }

  /** Such as without its folder: nobody would ever start it. */
  private async failed(row: ProcessRow, error: unknown): Promise<void> {
    const evidence = { kind: 'not_started', errno: 'ENOENT', message: errorText(error).slice(0, 300) };
    await this.records.notStarted(row, evidence).catch((failure: unknown) => {
      this.logger.error({ pid: row.pid, error: String(failure) }, 'a command that was not started is still there');
    });
  }

  /** Undefined when there is nothing to take. What the image would run now must be what was asked for at the birth. */
  private async claimed(pid: Pid): Promise<Claimed | undefined> {
    const seen = await this.store.read((tx) => this.processes.find(tx, pid));
    const image = seen === undefined || !isUnstarted(seen) ? undefined : this.imageOf(seen);
    if (seen === undefined || image === undefined) return undefined;
    const spec = this.planner.specOf(image, seen.args);
    const plan = await this.planner.ofImage(image, seen.args, null);
    return this.store.write(async (tx) => {
      const row = await this.processes.find(tx, pid);
      if (row === undefined || row.version !== seen.version) return undefined;
      await this.lease.assertLive(tx);
      return this.take(tx, row, spec, plan);
    });
  }

  private async take(
    tx: WriteTx,
    row: ProcessRow,
    spec: ParsedCommand,
    plan: PlannedCommand,
  ): Promise<Claimed | undefined> {
    const command = await this.commands.find(tx, row.n);
    if (command === undefined) return undefined;
    const act: Act = { actor: 'kernel', via: `host:${this.node.operator}`, at: this.clock.now() };
    const held = { ...row, node: this.node.nodeId, version: row.version + 1, updatedAt: act.at };
    if (!(await this.processes.update(tx, held))) throw conflict(row);
    this.records.intend(tx, act, held, command);
    const isSame = command.resource === plan.resource;
    const { file: _file, ...unfound } = plan;
    const { token, survive } = command;
    const isLimited = (await this.accounts.report(tx, row, act.at)).outputBytes.left !== null;
    return {
      row: held,
      spec,
      plan: isSame ? plan : unfound,
      token,
      survive,
      isLimited,
      inherited: await this.inherited(tx, row),
    };
  }

  /** What the process was spawned with, and before it its parent. */
  private async inherited(tx: WriteTx, row: ProcessRow): Promise<Readonly<Record<string, string>>> {
    const parent = row.bornUnder === null ? undefined : await this.processes.find(tx, row.bornUnder);
    const found = [];
    for (const hash of [parent?.env, row.env]) {
      if (typeof hash === 'string') found.push(await this.environments.findEnvironment(tx, hash));
    }
    return Object.assign({}, ...found);
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
