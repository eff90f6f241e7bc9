import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { closeSync, existsSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { inject, injectable } from 'inversify';
import { Deferred } from '../../base/deferred.js';
import type { Pid } from '../../base/ids.js';
import { Logger } from '../../base/logger.js';
import { copierProgram } from './copier-program.js';
import { OutputFiles } from './output-files.js';
import { OutputMeter } from './output-meter.js';

/** The number of starts of the copier process, including restarts after somebody has ended it. */
const startsMax = 10;
/** A copier process that does not answer for so long is not waited for any more. */
const answerMs = 10_000;
const pollMs = 20;
/** The time that the copier of another kernel gets to finish. */
const otherCopierMs = 2_000;

/** A command whose output is copied. */
interface CopiedCommand {
  readonly pid: Pid;
  readonly n: number;
  /** Kept open so that the command need not end when the copier process does. */
  readers: readonly number[];
  /** The version of the state that it was first told to be over its limit by. */
  overAt?: number;
  readonly onOver: () => void;
}

/** What the copier process tells. */
type Answer =
  | { readonly drained: number; readonly isOver: boolean }
  | { readonly over: number; readonly version: number };

/**
 * Holds the limit of `outputBytes`: commands with a limit write to pipes, and a separate process copies that to their files,
 * as much as is left of the limit for all of them together. It works also while this kernel is busy, and outlives it. It never
 * keeps the host program from ending.
 */
@injectable()
export class OutputCopier {
  private copier: ChildProcess | undefined;
  private starts = 0;
  private isClosed = false;
  private readonly copied = new Map<Pid, CopiedCommand>();
  /** Commands that the copier process is asked to finish, by their row number. */
  private readonly drains = new Map<number, Deferred<boolean>>();
  /** Grows with every command that comes or goes. */
  private generation = 0;
  /** The number of states that were sent. */
  private version = 0;
  /** The number of calls of `refresh`. */
  private requested = 0;
  private refreshing: Promise<void> | undefined;

  constructor(
    @inject(OutputFiles) private readonly files: OutputFiles,
    @inject(OutputMeter) private readonly meter: OutputMeter,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  /** Makes the pipes of a new process. Throws when that cannot be done. */
  async makePipes(n: number): Promise<void> {
    if (this.copier === undefined) this.start();
    if (this.copier === undefined) throw new Error('The process that copies output could not be started.');
    const pipes = this.files.pipesOf(n);
    this.removePipes(n);
    await promisify(execFile)('mkfifo', ['-m', '600', ...pipes]);
  }

  /**
   * To be called when the program runs; `readers` are the other ends of its pipes. `onOver` is called when it has tried to write
   * more than is left, by the accounts as they are then.
   */
  async add(pid: Pid, n: number, readers: readonly number[], onOver: () => void): Promise<void> {
    this.copied.set(pid, { pid, n, readers, onOver });
    this.generation++;
    await this.refresh();
  }

  /** Tells the copier process what may be written now. */
  refresh(): Promise<void> {
    if (this.copied.size === 0) return Promise.resolve();
    this.requested++;
    this.refreshing ??= this.sendRequested().finally(() => {
      this.refreshing = undefined;
    });
    return this.refreshing;
  }

  /** Resolves when everything that was written is in the files, with whether the limit was passed. */
  async finish(pid: Pid): Promise<boolean> {
    const command = this.copied.get(pid);
    if (command === undefined) return false;
    const drained = new Deferred<boolean>();
    this.drains.set(command.n, drained);
    this.send({ drain: command.n });
    // The timer also keeps the host program alive until the answer is there.
    const timeout = setTimeout(() => drained.resolve(false), answerMs);
    const isOver = await drained.promise;
    clearTimeout(timeout);
    this.drains.delete(command.n);
    return isOver;
  }

  /** Resolves when the copier process of another kernel has finished with a command, or has not for some time. */
  async waitForOther(n: number): Promise<void> {
    const pipes = this.files.pipesOf(n);
    for (let waitedMs = 0; waitedMs < otherCopierMs && pipes.some((pipe) => existsSync(pipe)); waitedMs += pollMs)
      await sleep(pollMs);
  }

  /** The end of the command is recorded. With `isLeft` others may go on to write, and are copied. */
  remove(pid: Pid, isLeft: boolean): void {
    const command = this.copied.get(pid);
    if (command === undefined) return;
    this.letGo(command);
    this.copied.delete(pid);
    this.generation++;
    if (isLeft) return;
    this.send({ close: command.n });
    this.removePipes(command.n);
  }

  /** This node does not drive the command any more: the copier process goes on with it. */
  release(pid: Pid): void {
    const command = this.copied.get(pid);
    if (command !== undefined) this.letGo(command);
  }

  /** The program was not started. */
  discard(n: number, readers: readonly number[]): void {
    for (const reader of readers) closeSync(reader);
    this.removePipes(n);
  }

  /** The copier process goes on with what survives this kernel, and ends. */
  close(): void {
    this.isClosed = true;
    this.copier?.stdin?.end();
  }

  private removePipes(n: number): void {
    for (const pipe of this.files.pipesOf(n)) rmSync(pipe, { force: true });
  }

  private letGo(command: CopiedCommand): void {
    for (const reader of command.readers) closeSync(reader);
    command.readers = [];
  }

  /** Each call is followed by a state that was read after it. */
  private async sendRequested(): Promise<void> {
    for (let sent = -1; sent < this.requested; ) {
      const { requested } = this;
      await this.sendState();
      sent = requested;
    }
  }

  /** Reads until no command has come or gone meanwhile: limits and charges are those of the commands that are told. */
  private async sendState(): Promise<void> {
    for (;;) {
      const { generation } = this;
      const { caps, accountsOf } = await this.meter.caps([...this.copied.keys()]);
      if (generation !== this.generation) continue;
      const commands = [...this.copied.values()].flatMap(({ pid, n }) => {
        const accounts = accountsOf.get(pid);
        return accounts === undefined ? [] : [{ n, accounts, streams: this.files.streamsOf(n) }];
      });
      this.version++;
      this.send({ state: { version: this.version, caps: Object.fromEntries(caps), commands } });
      return;
    }
  }

  private send(message: object): void {
    this.copier?.stdin?.write(`${JSON.stringify(message)}\n`);
  }

  private start(): void {
    if (this.isClosed || this.starts === startsMax) return;
    this.starts++;
    try {
      const copier = spawn(process.execPath, ['-e', copierProgram], {
        cwd: '/',
        detached: true,
        env: { ELECTRON_RUN_AS_NODE: '1' },
        stdio: ['pipe', 'pipe', 'ignore'],
      });
      this.copier = copier;
      copier.on('error', (error) => this.onEnd(copier, error.message));
      copier.on('exit', () => this.onEnd(copier, 'it has ended'));
      copier.stdin.on('error', () => undefined);
      createInterface({ input: copier.stdout }).on('line', (line) => this.onAnswer(line));
      for (const handle of [copier, copier.stdin, copier.stdout])
        if ('unref' in handle && typeof handle.unref === 'function') handle.unref();
    } catch (error) {
      this.logger.error({ error: String(error) }, 'the process that copies output could not be started');
    }
  }

  private onAnswer(line: string): void {
    const answer = JSON.parse(line) as Answer;
    if ('drained' in answer) {
      this.drains.get(answer.drained)?.resolve(answer.isOver);
      return;
    }
    const command = [...this.copied.values()].find(({ n }) => n === answer.over);
    if (command === undefined) return;
    if (command.overAt !== undefined && answer.version > command.overAt) {
      command.onOver();
      return;
    }
    // The room that the copier knows may be out of date: others may have given something back since.
    command.overAt ??= this.version;
    void this.refresh().catch(() => undefined);
  }

  /** A new copier process goes on where the other one has ended. */
  private onEnd(copier: ChildProcess, reason: string): void {
    if (this.copier !== copier) return;
    this.copier = undefined;
    if (this.isClosed) return;
    this.logger.warn({ reason }, 'the process that copies output has ended');
    if (this.copied.size === 0) return;
    this.start();
    if (this.copier === undefined) {
      // Nobody reads the pipes: the commands find them closed.
      for (const command of this.copied.values()) this.letGo(command);
      for (const drain of this.drains.values()) drain.resolve(false);
      return;
    }
    void this.refresh()
      .then(() => {
        for (const n of this.drains.keys()) this.send({ drain: n });
      })
      .catch((error: unknown) => {
        this.logger.error({ error: String(error) }, 'the process that copies output was not told its limits');
      });
  }
}
