import type { ChildProcess } from 'node:child_process';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { Pid } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import { Logger } from '../../base/logger.js';
import { NodeIdentity } from '../../base/node-identity.js';
import type { HostIdentity } from '../../kernel/node/node-repository.js';
import type { Outcome, OutcomeKind, ProcessRow } from '../../kernel/process/process.js';
import { NodeSettings } from '../../runtime/node/node-settings.js';
import { ownerLost } from '../../runtime/node/releases.js';
import { OsGroups } from '../../runtime/os/os-groups.js';
import { OsProcesses } from '../../runtime/os/os-processes.js';
import type { AuditAction } from '../../unit/actions.js';
import { Timers } from '../../unit/timers.js';
import { OutputCopier } from '../output/output-copier.js';
import { OutputFiles } from '../output/output-files.js';
import { OutputMeter } from '../output/output-meter.js';
import { withToken } from '../plan/environment.js';
import { CommandGuard } from './command-guard.js';
import { CommandProcesses, isNothing } from './command-processes.js';
import { type CommandEnd, type CommandExit, CommandRecorder } from './command-recorder.js';
import { DrivenOutput } from './driven-output.js';
import type { Driver } from './driver.js';
import { type Launch, startProgram } from './launch.js';
import { SecretResolver } from './secret-resolver.js';
import { StopSequence } from './stop-sequence.js';
import { TreeWatch } from './tree-watch.js';

const pollMs = 200;
const graceMs = 1_000;
/** A command that ends within this time has its start and its end recorded in one unit. */
const briefRunMs = 5;
/** The OS reuses no pid within so short a time: only processes with a higher pid than the leader can belong to the command. */
const shortLifeMs = 1_000;

/** A command that this node holds. */
export interface DrivenCommand {
  readonly row: Pick<ProcessRow, 'n' | 'pid' | 'fence' | 'deadlineAt'>;
  readonly token: string;
  readonly survive: boolean;
  readonly hasOutputLimit: boolean;
  /** The caller waits for its end and it does not survive the kernel, so that its start need not be recorded separately. */
  readonly isAwaited: boolean;
}

/** The dependencies of drivers. */
@injectable()
export class CommandDriverDeps {
  constructor(
    @inject(Clock) readonly clock: KernelClock,
    @inject(NodeIdentity) readonly node: NodeIdentity,
    @inject(NodeSettings) readonly settings: NodeSettings,
    @inject(OsProcesses) readonly os: OsProcesses,
    @inject(OsGroups) readonly groups: OsGroups,
    @inject(Timers) readonly timers: Timers,
    @inject(CommandRecorder) readonly recorder: CommandRecorder,
    @inject(OutputFiles) readonly files: OutputFiles,
    @inject(OutputMeter) readonly meter: OutputMeter,
    @inject(OutputCopier) readonly copier: OutputCopier,
    @inject(CommandGuard) readonly guard: CommandGuard,
    @inject(SecretResolver) readonly secrets: SecretResolver,
    @inject(TreeWatch) readonly treeWatch: TreeWatch,
    @inject(Logger) readonly logger: Logger,
  ) {}
}

/** Drives one command from its start, or its adoption, to its end. */
export class CommandDriver implements Driver {
  /** Set when the end is recorded. */
  outcomeKind: OutcomeKind | undefined;
  private command: DrivenCommand | undefined;
  private leader: HostIdentity | undefined;
  private processes: CommandProcesses | undefined;
  private stopSequence: StopSequence | undefined;
  /** Set when it was ordered to stop: the moment at which it is killed. */
  private killAt: number | undefined;
  private startedAt = 0;
  /** Set when its program, as a child of this one, has exited. */
  private runtimeMs: number | undefined;
  /** `released`: this node does not hold it any more and signals nothing. `endedElsewhere`: its row has ended, so it is killed. */
  private ownership: 'held' | 'released' | 'endedElsewhere' = 'held';
  private child: ChildProcess | undefined;
  private isShuttingDown = false;
  private isRecordingEnd = false;
  private deadline: Disposable | undefined;
  private readonly output: DrivenOutput;
  private completion: Promise<void> = Promise.resolve();

  constructor(
    readonly pid: Pid,
    private readonly deps: CommandDriverDeps,
  ) {
    this.output = new DrivenOutput(pid, deps, {
      isStopping: () => this.killAt !== undefined,
      isEnding: () => this.killAt !== undefined || this.isShuttingDown || this.ownership !== 'held',
      orderStopAtLimit: () => this.orderStop('budget_exhausted', 'process.budgetExhausted'),
    });
  }

  get survives(): boolean {
    return this.command?.survive === true;
  }

  /** Resolves when the end of a command that was started or adopted is recorded and cleaned up. */
  get done(): Promise<void> {
    return this.completion;
  }

  /** Starts the program. Undefined when it could not be started; the process has then ended. */
  async start(command: DrivenCommand, launch: Launch): Promise<ChildProcess | undefined> {
    this.command = command;
    const { groups, guard, files, secrets } = this.deps;
    const { row, token, survive } = command;
    const isCopied = command.hasOutputLimit && launch.isPiped !== true;
    const environment = await secrets.resolve(launch.variables);
    if ('failure' in environment) return this.recordNotStarted({ kind: 'not_started', ...environment.failure });
    const failure = isCopied ? await this.output.makePipes(row.n) : undefined;
    if (this.killAt !== undefined || this.isShuttingDown)
      return this.recordNotStarted({ kind: 'not_started', reason: 'stopped' });
    if (failure !== undefined) return this.recordNotStarted({ kind: 'not_started', ...failure });
    this.startedAt = performance.now();
    if (!survive) guard.addToken(token, row.n);
    const variables = withToken(environment.variables, token);
    const child = await (isCopied
      ? this.output.startCopied(launch, variables, row.n, token)
      : startProgram(launch, variables, () => files.open(row.n, token)));
    if ('errno' in child) return this.recordNotStarted({ kind: 'not_started', ...child });
    const leader = groups.identify(child.pid ?? 0);
    if (leader === undefined) throw new Error('A program that was started has no pid.');
    this.leader = leader;
    this.child = child;
    this.processes = new CommandProcesses(groups, { leader, marks: files.marksOf(row.n, token), isOwn: true });
    this.stopSequence = new StopSequence(this.processes, now);
    const exit = new Promise<CommandExit>((resolve) => {
      child.once('exit', (exitCode, signal) => {
        this.runtimeMs = Math.ceil(now() - this.startedAt);
        resolve({ exitCode, signal });
      });
    });
    const starting = this.recordStart(command, leader, exit);
    this.completion = this.runToEnd(starting, exit);
    // The caller finds the process in the state `running`.
    await starting.catch(() => undefined);
    return child;
  }

  /** Continues with a running command whose kernel is gone. */
  adopt(command: DrivenCommand, leader: HostIdentity, row: ProcessRow): void {
    this.command = command;
    this.leader = leader;
    const { groups, guard, files } = this.deps;
    const { token, survive } = command;
    if (!survive) guard.addToken(token, row.n);
    this.addGroupToGuard();
    this.processes = new CommandProcesses(groups, { leader, marks: files.marksOf(row.n, token), isOwn: false });
    this.stopSequence = new StopSequence(this.processes, now);
    this.completion = this.runToEnd(Promise.resolve(row), this.waitUntilGone(leader));
  }

  /** The process was ordered to stop; at `alarmAt`, in kernel time, it is killed. */
  stop(alarmAt: number): void {
    const killAt = now() + Math.max(0, alarmAt - this.deps.clock.peek());
    this.killAt = Math.min(this.killAt ?? killAt, killAt);
    void this.stopSequence?.stop(this.killAt);
  }

  pause(): void {
    if (this.killAt === undefined) this.stopSequence?.signal('SIGSTOP');
  }

  resume(): void {
    this.stopSequence?.signal('SIGCONT');
  }

  /** The row was ended by somebody else: kills everything that is left of the command. */
  onEndedElsewhere(): void {
    if (this.ownership === 'released' || this.isRecordingEnd) return;
    this.ownership = 'endedElsewhere';
    this.stop(this.deps.clock.peek());
  }

  /** This node does not hold the command any more, or lets it survive: stops driving it and signals nothing. */
  release(): void {
    this.ownership = 'released';
    this.child?.unref();
    this.cleanUp();
  }

  /** Starts to meter the output if it has a limit now. */
  async meterIfLimited(): Promise<void> {
    await this.output.meterIfLimited(this.rowNumber);
  }

  /** The node shuts down: stops the command, whose outcome is then `abandoned`. */
  shutDown(withinMs: number): void {
    this.isShuttingDown = true;
    void this.stopSequence?.stop(now() + Math.min(graceMs, withinMs));
  }

  /**
   * Records the start, and gives the row; 'lost' when this node does not hold it any more. For a command that is awaited
   * and is over at once, with no process left, nothing is recorded and the leader is given: its start is recorded with its
   * end, in one unit.
   */
  private async recordStart(
    { row, isAwaited }: DrivenCommand,
    leader: HostIdentity,
    exit: Promise<CommandExit>,
  ): Promise<ProcessRow | 'lost' | HostIdentity> {
    const early =
      isAwaited && !this.output.isCopied ? await Promise.race([exit, sleep(briefRunMs, undefined)]) : undefined;
    const isOver =
      early !== undefined && this.killAt === undefined && !this.isShuttingDown && this.ownership === 'held';
    if (isOver && this.processes?.isSurelyGone() === true) return leader;
    this.addGroupToGuard();
    return (await this.deps.recorder.recordStart(row, leader)) ?? 'lost';
  }

  private async runToEnd(
    starting: Promise<ProcessRow | 'lost' | HostIdentity>,
    exiting: Promise<CommandExit | undefined>,
  ): Promise<void> {
    try {
      const started = await starting;
      if (started === 'lost') return await this.killUnrecorded();
      if ('n' in started) this.onStarted(started);
      const exit = await exiting;
      if (this.ownership === 'released') return;
      const isClean = 'n' in started ? await this.stopRemaining() : true;
      await this.output.finish(this.rowNumber, this.child !== undefined);
      this.isRecordingEnd = true;
      const { command } = this;
      if (command === undefined || this.ownership !== 'held') return;
      const unrecordedLeader = 'n' in started ? undefined : started;
      this.outcomeKind = await this.deps.recorder.recordEnd(
        command.row,
        this.toCommandEnd(exit, isClean),
        unrecordedLeader,
      );
    } catch (error) {
      this.deps.logger.error({ pid: this.pid, error: String(error) }, 'the end of a command was not recorded');
      await this.killUnrecorded();
    } finally {
      this.cleanUp();
    }
  }

  /** From here on the guard can stop the whole group; before it finds processes by the token only. */
  private addGroupToGuard(): void {
    const { command, leader } = this;
    if (command?.survive === false && leader !== undefined) this.deps.guard.addGroup(command.token, leader);
  }

  private onStarted(row: ProcessRow): void {
    const { settings, timers, treeWatch } = this.deps;
    if (this.processes !== undefined) treeWatch.add(this.processes);
    if (row.status === 'stopping') this.stop(row.alarmAt ?? 0);
    if (row.status === 'paused') this.pause();
    if (this.command?.hasOutputLimit === true) this.output.startMetering(row.n);
    if (row.deadlineAt === null || settings.executor) return;
    this.deadline = timers.callAt(row.deadlineAt, () => void this.orderStop('timed_out', 'process.timeout'));
  }

  /** Kills a program whose start or end could not be recorded. */
  private async killUnrecorded(): Promise<void> {
    if (this.ownership !== 'released') await this.stopSequence?.stop(now());
  }

  /** Stops what the program has left running, unless it survives the kernel. Gives whether nothing is left. */
  private async stopRemaining(): Promise<boolean> {
    const { stopSequence, processes } = this;
    if (stopSequence === undefined || processes === undefined) return true;
    if (this.killAt !== undefined) return stopSequence.stop(this.killAt);
    if (this.isShuttingDown) return stopSequence.stop(now() + graceMs);
    if (this.survives) return true;
    const isShort = this.startedAt > 0 && now() - this.startedAt < shortLifeMs;
    if (isShort && processes.isSurelyGone()) return true;
    return isNothing(await processes.find()) || stopSequence.stop(now() + graceMs);
  }

  private toCommandEnd(exit: CommandExit | undefined, isClean: boolean): CommandEnd {
    const { exitCode, signal } = exit ?? { exitCode: null, signal: null };
    const survivors = isClean ? {} : { survivors: true };
    return {
      ...(exit === undefined ? {} : { exit }),
      ...this.outcomeOf(exit, survivors),
      outputBytes: this.deps.files.bytesWritten(this.rowNumber),
      ...(this.runtimeMs === undefined ? {} : { runtimeMs: this.runtimeMs }),
      result: { pid: this.pid, exitCode, signal, ...this.deps.files.toResultFields(this.rowNumber) },
    };
  }

  private outcomeOf(exit: CommandExit | undefined, survivors: JsonObject): Pick<CommandEnd, 'event' | 'outcome'> {
    const evidence = { ...survivors };
    if (this.isShuttingDown || exit === undefined) {
      const reason = this.isShuttingDown ? ownerLost : 'pid_gone';
      const facts = this.isShuttingDown
        ? { node: this.deps.node.nodeId, reason: 'shutdown' }
        : { pid: this.leader?.pid ?? 0 };
      const outcome: Outcome = {
        kind: 'abandoned',
        reason,
        evidence: { kind: reason, ...facts, ...evidence },
        ...exit,
      };
      return { event: 'abandon', outcome };
    }
    const details = survivors.survivors === undefined ? exit : { ...exit, evidence };
    if (exit.exitCode === 0) return { event: 'exit', outcome: { kind: 'completed', ...details } };
    return { event: 'fail', outcome: { kind: 'failed', ...details } };
  }

  private async recordNotStarted(evidence: JsonObject): Promise<undefined> {
    const { command } = this;
    this.isRecordingEnd = true;
    if (command?.hasOutputLimit === true) this.output.discard(command.row.n);
    if (command !== undefined && this.ownership === 'held')
      await this.deps.recorder.recordNotStarted(command.row, evidence);
    this.cleanUp();
  }

  private async orderStop(kind: 'timed_out' | 'budget_exhausted', action: AuditAction): Promise<void> {
    const { command } = this;
    if (command !== undefined) await this.deps.recorder.orderStop(command.row, kind, action);
  }

  /** The number of its row; 0 before it has one. */
  private get rowNumber(): number {
    return this.command?.row.n ?? 0;
  }

  /** Resolves when the program is gone. Polls, because an adopted program is not a child of this one. */
  private waitUntilGone(leader: HostIdentity): Promise<undefined> {
    return new Promise((resolve) => {
      const poll = setInterval(() => {
        if (this.ownership !== 'released' && this.deps.os.isAlive(leader) !== false) return;
        clearInterval(poll);
        resolve(undefined);
      }, pollMs);
    });
  }

  private cleanUp(): void {
    this.deadline?.[Symbol.dispose]();
    if (this.processes !== undefined) this.deps.treeWatch.remove(this.processes);
    this.output.close(this.ownership === 'released', this.survives && this.killAt === undefined);
    if (this.command !== undefined) this.deps.guard.remove(this.command.token);
  }
}

/** Real time: programs of the OS do not follow the kernel's clock. */
function now(): number {
  return performance.now();
}
