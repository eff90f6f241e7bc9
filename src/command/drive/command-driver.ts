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
import { OsProcesses } from '../../runtime/os/host-identity.js';
import { OsGroups } from '../../runtime/os/os-groups.js';
import { Timers } from '../../runtime/run/timers.js';
import type { AuditAction } from '../../unit/actions.js';
import { OutputFiles } from '../output/output-files.js';
import { OutputMeter } from '../output/output-meter.js';
import { type CommandEnd, type CommandExit, CommandRecords } from './command-records.js';
import { Guard } from './guard.js';
import { type Launch, startProgram } from './launch.js';
import { StopLadder } from './stop-ladder.js';

const lookMs = 200;
const graceMs = 1_000;
/** How long a command may take to end before its start is written by itself. */
const briefMs = 5;
/** In so short a life pids do not come round again: only what was born after its leader can be its own. */
const shortLifeMs = 1_000;

/** A command that this node has taken. */
export interface DrivenCommand {
  readonly row: Pick<ProcessRow, 'n' | 'pid' | 'fence' | 'deadlineAt'>;
  readonly token: string;
  readonly survive: boolean;
  readonly isLimited: boolean;
  /** Whoever runs it waits for its end, and it goes with its kernel: nobody has to know of it before. */
  readonly isAwaited: boolean;
}

/** What drivers are made with. */
@injectable()
export class CommandDriverDeps {
  constructor(
    @inject(Clock) readonly clock: KernelClock,
    @inject(NodeIdentity) readonly node: NodeIdentity,
    @inject(NodeSettings) readonly settings: NodeSettings,
    @inject(OsProcesses) readonly os: OsProcesses,
    @inject(OsGroups) readonly groups: OsGroups,
    @inject(Timers) readonly timers: Timers,
    @inject(CommandRecords) readonly records: CommandRecords,
    @inject(OutputFiles) readonly files: OutputFiles,
    @inject(OutputMeter) readonly meter: OutputMeter,
    @inject(Guard) readonly guard: Guard,
    @inject(Logger) readonly logger: Logger,
  ) {}
}

/** Drives one command from its birth, or its adoption, to its end. */
export class CommandDriver {
  /** What became of it, once that is written. */
  ending: OutcomeKind | undefined;
  private command: DrivenCommand | undefined;
  private leader: HostIdentity | undefined;
  private ladder: StopLadder | undefined;
  /** When the time to end is over, once somebody has ordered it to. */
  private killAt: number | undefined;
  private startedAt = 0;
  /** How long its program has run, once it has ended before our eyes. */
  private lifeMs: number | undefined;
  /** `left`: not this node's any more: nothing is signalled. `ended`: by somebody else, so that nothing may be left. */
  private hold: 'held' | 'left' | 'ended' = 'held';
  private child: ChildProcess | undefined;
  private isShutDown = false;
  /** Its end is being written here. */
  private isEnding = false;
  private looking: NodeJS.Timeout | undefined;
  private deadline: Disposable | undefined;
  private charging: Promise<void> | undefined;
  private whole: Promise<void> = Promise.resolve();

  constructor(
    readonly pid: Pid,
    private readonly kit: CommandDriverDeps,
  ) {}

  get survives(): boolean {
    return this.command?.survive === true;
  }

  /** Resolves when nothing of it is left to be done, once it is started or adopted. */
  get over(): Promise<void> {
    return this.whole;
  }

  /** Starts the program; undefined when it could not be, which is then its end. */
  async start(command: DrivenCommand, launch: Launch): Promise<ChildProcess | undefined> {
    this.command = command;
    const { groups, guard, files } = this.kit;
    const { row, token, survive } = command;
    if (this.killAt !== undefined || this.isShutDown)
      return this.notStarted({ kind: 'not_started', reason: 'stopped' });
    this.startedAt = performance.now();
    if (!survive) guard.expect(token);
    const child = await startProgram(launch, () => files.open(row.n));
    if ('errno' in child) return this.notStarted({ kind: 'not_started', ...child });
    const leader = groups.identify(child.pid ?? 0);
    if (leader === undefined) throw new Error('A program that was started has no pid.');
    this.leader = leader;
    this.child = child;
    this.ladder = new StopLadder(groups, { leader, token, isOwn: true }, now);
    const gone = new Promise<CommandExit>((resolve) => {
      child.once('exit', (exitCode, signal) => {
        this.lifeMs = Math.ceil(now() - this.startedAt);
        resolve({ exitCode, signal });
      });
    });
    const starting = this.begin(command, leader, gone);
    this.whole = this.carry(starting, gone);
    // Whoever talks to it finds it running.
    await starting.catch(() => undefined);
    return child;
  }

  /** Goes on with one that lives without the kernel that has started it. */
  adopt(command: DrivenCommand, leader: HostIdentity, row: ProcessRow): void {
    this.command = command;
    this.leader = leader;
    const { groups, guard } = this.kit;
    const { token, survive } = command;
    if (!survive) guard.expect(token);
    this.tellGuard();
    this.ladder = new StopLadder(groups, { leader, token, isOwn: false }, now);
    this.whole = this.carry(Promise.resolve(row), this.absence(leader));
  }

  /** Somebody has ordered it to stop; `alarmAt` is when its time is over. */
  stop(alarmAt: number): void {
    const killAt = now() + Math.max(0, alarmAt - this.kit.clock.peek());
    this.killAt = Math.min(this.killAt ?? killAt, killAt);
    void this.ladder?.stop(this.killAt);
  }

  pause(): void {
    if (this.killAt === undefined) this.ladder?.signal('SIGSTOP');
  }

  resume(): void {
    this.ladder?.signal('SIGCONT');
  }

  /** Somebody has ended the process itself: nothing of it may be left. */
  endedElsewhere(): void {
    if (this.hold === 'left' || this.isEnding) return;
    this.hold = 'ended';
    this.stop(this.kit.clock.peek());
  }

  /** It is not this node's any more, or goes on without it: nothing is signalled. */
  leave(): void {
    this.hold = 'left';
    this.child?.unref();
    this.finish();
  }

  /** A limit may have been set. */
  async remeasure(): Promise<void> {
    if (this.looking === undefined && (await this.kit.meter.isLimited(this.pid))) this.measure();
  }

  /** The node shuts down: the command is stopped, and is lost with its node. */
  shutDown(withinMs: number): void {
    this.isShutDown = true;
    void this.ladder?.stop(now() + Math.min(graceMs, withinMs));
  }

  /**
   * Writes that it has started. One that somebody waits for, and that is over at once with nobody left behind, starts
   * and ends in one unit: most commands are short.
   */
  private async begin(
    { row, isAwaited }: DrivenCommand,
    leader: HostIdentity,
    gone: Promise<CommandExit>,
  ): Promise<ProcessRow | 'lost' | HostIdentity> {
    const exit = isAwaited ? await Promise.race([gone, sleep(briefMs, undefined)]) : undefined;
    const isOver = exit !== undefined && this.killAt === undefined && !this.isShutDown && this.hold === 'held';
    if (isOver && this.ladder?.isAnybodyLeft(leader.pid) === false) return leader;
    this.tellGuard();
    return (await this.kit.records.started(row, leader)) ?? 'lost';
  }

  private async carry(
    starting: Promise<ProcessRow | 'lost' | HostIdentity>,
    gone: Promise<CommandExit | undefined>,
  ): Promise<void> {
    try {
      const begun = await starting;
      if (begun === 'lost') return await this.lost();
      if ('n' in begun) this.begun(begun);
      const exit = await gone;
      if (this.hold === 'left') return;
      const isClean = 'n' in begun ? await this.cleared() : true;
      clearInterval(this.looking);
      await this.charging;
      this.isEnding = true;
      const { command } = this;
      if (command === undefined || this.hold !== 'held') return;
      const unwritten = 'n' in begun ? undefined : begun;
      this.ending = await this.kit.records.ended(command.row, this.end(exit, isClean), unwritten);
    } catch (error) {
      this.kit.logger.error({ pid: this.pid, error: String(error) }, 'what became of a command was not written');
      await this.lost();
    } finally {
      this.finish();
    }
  }

  /** What it stops as a whole; until then it finds everything by the token. */
  private tellGuard(): void {
    const { command, leader } = this;
    if (command?.survive === false && leader !== undefined) this.kit.guard.watch(command.token, leader);
  }

  private begun(row: ProcessRow): void {
    const { settings, timers } = this.kit;
    if (row.status === 'stopping') this.stop(row.alarmAt ?? 0);
    if (row.status === 'paused') this.pause();
    if (this.command?.isLimited === true) this.measure();
    if (row.deadlineAt === null || settings.executor) return;
    this.deadline = timers.at(row.deadlineAt, () => void this.order('timed_out', 'process.timeout'));
  }

  /** Nobody can know of what was started here: it is ended before anybody could miss it. */
  private async lost(): Promise<void> {
    if (this.hold !== 'left') await this.ladder?.stop(now());
  }

  /** Waits until nothing of it is left; what a survivor leaves behind is its own affair. Answers whether that is so. */
  private async cleared(): Promise<boolean> {
    const { ladder } = this;
    if (ladder === undefined) return true;
    if (this.killAt !== undefined) return ladder.stop(this.killAt);
    if (this.isShutDown) return ladder.stop(now() + graceMs);
    if (this.survives) return true;
    const isShort = this.startedAt > 0 && now() - this.startedAt < shortLifeMs;
    return ladder.isAnybodyLeft(isShort ? this.leader?.pid : undefined) ? ladder.stop(now() + graceMs) : true;
  }

  private end(exit: CommandExit | undefined, isClean: boolean): CommandEnd {
    const { exitCode, signal } = exit ?? { exitCode: null, signal: null };
    const survivors = isClean ? {} : { survivors: true };
    return {
      ...(exit === undefined ? {} : { exit }),
      ...this.outcome(exit, survivors),
      outputBytes: this.written(),
      ...(this.lifeMs === undefined ? {} : { lifeMs: this.lifeMs }),
      result: { pid: this.pid, exitCode, signal, ...this.kit.files.shown(this.command?.row.n ?? 0) },
    };
  }

  private outcome(exit: CommandExit | undefined, survivors: JsonObject): Pick<CommandEnd, 'event' | 'outcome'> {
    const evidence = { ...survivors };
    if (this.isShutDown || exit === undefined) {
      const reason = this.isShutDown ? ownerLost : 'pid_gone';
      const why = this.isShutDown ? { node: this.kit.node.nodeId, reason: 'shutdown' } : { pid: this.leader?.pid ?? 0 };
      const outcome: Outcome = { kind: 'abandoned', reason, evidence: { kind: reason, ...why, ...evidence }, ...exit };
      return { event: 'abandon', outcome };
    }
    const shown = survivors.survivors === undefined ? exit : { ...exit, evidence };
    if (exit.exitCode === 0) return { event: 'exit', outcome: { kind: 'completed', ...shown } };
    return { event: 'fail', outcome: { kind: 'failed', ...shown } };
  }

  private async notStarted(evidence: JsonObject): Promise<undefined> {
    const { command } = this;
    this.isEnding = true;
    if (command !== undefined && this.hold === 'held') await this.kit.records.notStarted(command.row, evidence);
    this.finish();
  }

  /** Looks at the size of what it has written while it grows. */
  private measure(): void {
    let seen = 0;
    this.looking = setInterval(() => {
      const size = this.written();
      if (size === seen || this.charging !== undefined || this.killAt !== undefined) return;
      seen = size;
      this.charging = this.charge(size).finally(() => {
        this.charging = undefined;
      });
    }, lookMs).unref();
  }

  private async charge(size: number): Promise<void> {
    try {
      if (await this.kit.meter.charge(this.pid, size)) return;
      await this.order('budget_exhausted', 'process.budgetExhausted');
    } catch (error) {
      this.kit.logger.error({ pid: this.pid, error: String(error) }, 'the output of a command was not charged');
    }
  }

  private async order(kind: 'timed_out' | 'budget_exhausted', action: AuditAction): Promise<void> {
    const { command } = this;
    if (command !== undefined) await this.kit.records.stop(command.row, kind, action);
  }

  private written(): number {
    return this.kit.files.written(this.command?.row.n ?? 0);
  }

  /** Resolves when the program is gone. It is not a child of this one, so it has to be looked at. */
  private absence(leader: HostIdentity): Promise<undefined> {
    return new Promise((resolve) => {
      const look = setInterval(() => {
        if (this.hold !== 'left' && this.kit.os.isAlive(leader) !== false) return;
        clearInterval(look);
        resolve(undefined);
      }, lookMs);
    });
  }

  private finish(): void {
    clearInterval(this.looking);
    this.deadline?.[Symbol.dispose]();
    if (this.command !== undefined) this.kit.guard.done(this.command.token);
  }
}

/** Real time: a program does not know the kernel's clock. */
function now(): number {
  return performance.now();
}
