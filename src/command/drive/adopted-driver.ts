import { performance } from 'node:perf_hooks';
import { Deferred } from '../../base/deferred.js';
import type { Pid } from '../../base/ids.js';
import type { OutcomeKind, ProcessRow } from '../../kernel/process/process.js';
import { AdoptedProcesses, type AdoptedProgram } from './adopted-processes.js';
import type { CommandDriverDeps } from './command-driver.js';
import type { Driver } from './driver.js';
import { StopSequence } from './stop-sequence.js';

const pollMs = 200;
/** Who started the program has this time after its end to tell how it ended. */
const completionMs = 500;

/** Asks an adopted program to end. */
export type InterruptFunction = () => void | Promise<void>;

/** Watches and stops a program that somebody else has started. It has no output, and the end of a kernel leaves it alone. */
export class AdoptedDriver implements Driver {
  readonly survives = true;
  outcomeKind: OutcomeKind | undefined;
  private readonly stopSequence: StopSequence;
  private readonly processes: AdoptedProcesses;
  private readonly completion = new Deferred();
  private row: ProcessRow | undefined;
  private killAt: number | undefined;
  private isPaused = false;
  private isDone = false;
  private poll: NodeJS.Timeout | undefined;
  private deadline: Disposable | undefined;

  constructor(
    readonly pid: Pid,
    private readonly deps: CommandDriverDeps,
    private readonly program: AdoptedProgram,
    private readonly interrupt?: InterruptFunction,
  ) {
    this.processes = new AdoptedProcesses(deps.groups, program);
    const ask = interrupt === undefined ? undefined : (onFailure: () => void) => this.callInterrupt(onFailure);
    this.stopSequence = new StopSequence(this.processes, now, ask);
  }

  get done(): Promise<void> {
    return this.completion.promise;
  }

  /** Watches the program from now on. `row` as it was committed. */
  begin(row: ProcessRow): void {
    if (this.isDone) return;
    this.row = row;
    if (row.status === 'stopping') this.stop(row.alarmAt ?? 0);
    this.isPaused ||= row.status === 'paused';
    // Polls in real time: it is not a child of this program.
    this.poll = setInterval(() => this.look(), pollMs).unref();
    const { settings, timers, recorder } = this.deps;
    if (row.deadlineAt === null || settings.executor) return;
    const orderStop = () => void recorder.orderStop(row, 'timed_out', 'process.timeout').catch(() => undefined);
    this.deadline = timers.callAt(row.deadlineAt, orderStop);
  }

  stop(alarmAt: number): void {
    if (this.isDone) return;
    const killAt = now() + Math.max(0, alarmAt - this.deps.clock.peek());
    this.killAt = Math.min(this.killAt ?? killAt, killAt);
    void this.stopSequence.stop(this.killAt);
  }

  pause(): void {
    if (this.killAt !== undefined || this.isDone) return;
    this.isPaused = true;
    this.stopSequence.signal('SIGSTOP');
  }

  resume(): void {
    if (this.isDone) return;
    this.isPaused = false;
    this.stopSequence.signal('SIGCONT');
  }

  /** Somebody has told its end: what is left of the program is theirs. */
  onEndedElsewhere(): void {
    this.release();
  }

  release(): void {
    this.isDone = true;
    clearInterval(this.poll);
    this.deadline?.[Symbol.dispose]();
    this.completion.resolve();
  }

  async meterIfLimited(): Promise<void> {
    // It has no output.
  }

  shutDown(): void {
    this.release();
  }

  private look(): void {
    const { leader } = this.program;
    if (this.deps.os.isAlive(leader) !== false) return;
    clearInterval(this.poll);
    setTimeout(() => void this.recordGone(), completionMs).unref();
  }

  private async recordGone(): Promise<void> {
    try {
      // Others of its group may still be on their way out.
      if (this.killAt !== undefined) await this.stopSequence.stop(this.killAt);
      if (this.isDone || this.row === undefined) return;
      this.outcomeKind = await this.deps.recorder.recordAdoptedGone(this.row, 'pid_gone', {
        pid: this.program.leader.pid,
      });
    } catch (error) {
      this.deps.logger.error({ pid: this.pid, error: String(error) }, 'the end of an adopted program was not recorded');
    } finally {
      this.release();
    }
  }

  private callInterrupt(onFailure: () => void): void {
    const fail = (error: unknown) => {
      this.deps.logger.warn({ pid: this.pid, error: String(error) }, 'the interrupt of an adopted program has failed');
      if (!this.isDone) onFailure();
    };
    try {
      Promise.resolve(this.interrupt?.()).catch(fail);
      // A paused program cannot end.
      if (this.isPaused) void this.processes.find().then((found) => this.processes.signal(found, 'SIGCONT'));
    } catch (error) {
      fail(error);
    }
  }
}

/** Real time: programs of the OS do not follow the kernel's clock. */
function now(): number {
  return performance.now();
}
