import { AsyncLocalStorage } from 'node:async_hooks';
import { setMaxListeners } from 'node:events';
import type { KernelError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import { type JsonValue, sha256Hex } from '../../base/json.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { isTerminal, type ProcessRow, toActingProcess } from '../../kernel/process/process.js';
import { findRenewedState, type RenewedState } from '../../kernel/process/renewed-state.js';
import type { RunEntry } from '../../kernel/process/run-entry-repository.js';
import { processTerminated } from '../../kernel/process/transitions.js';
import type { ObjectHandle } from '../../memory/object/object.js';
import type { Act } from '../../unit/act.js';
import type { ActingProcess, RunHooks, WaitReason } from '../../unit/caller.js';
import { PausedInterruption } from '../../unit/interruption.js';
import type { Slots } from '../node/slots.js';
import { CallTree, type OpenCall } from './call-tree.js';
import type { RecordedRun } from './recorded-run.js';
import { Replay } from './replay.js';
import { leaseLost, pathOf, stepOver } from './run-errors.js';
import type { RunTable } from './run-table.js';
import { markRunEnd } from './unhandled-rejections.js';

/** The columns of its process that a run keeps, as they were when it was claimed. */
export type RunRow = Pick<ProcessRow, 'n' | 'pid' | 'root' | 'image' | 'generation' | 'attempt'>;

/** A process as it was claimed, with its goal and the journal of its earlier runs. */
export interface RunStart {
  readonly row: ProcessRow;
  readonly goal: ObjectHandle;
  readonly entries: readonly RunEntry[];
  /** The id of the audit record of the start. */
  readonly record: string;
  /** Present where the entries are recorded ones, and no other call is to be made. */
  readonly replayed?: RecordedRun;
}

/** The attempt of a step that code runs in. */
interface StepScope {
  readonly run: Run;
  readonly call: OpenCall;
  readonly attempt: number;
}

const stepScopes = new AsyncLocalStorage<StepScope>();

/** The additions of one call to the hooks of its run. */
export interface CallHooks {
  /** Last in each write unit of the call, in the same commit. */
  readonly afterWrite?: RunHooks['afterWrite'];
  /** Whether its units run while the process is paused too: for recording something that has already happened. */
  readonly ignoresPause?: boolean;
}

/**
 * One run of a body, from the claim of its process until the process ends, another run has it, or the node gives it up.
 * Every unit of its calls checks the fence first, so that a run which has lost its process commits nothing more.
 *
 * It holds a slot while any of its calls is at work, and gives the slot back while all of them are blocked.
 */
export class Run {
  readonly pid: Pid;
  readonly fence: number;
  readonly args: JsonValue;
  readonly goal: ObjectHandle;
  readonly row: RunRow;
  /** The id of the audit record of its start. */
  private readonly record: string;
  readonly replay: Replay;
  /** The state that its body was renewed with; undefined for one that was not. */
  readonly renewed: RenewedState | undefined;
  cwd: string;
  private readonly calls = new CallTree(() => {
    this.callChanges++;
    this.scheduleCheck();
  });
  /** Grows whenever a call begins, ends, is blocked or goes on. */
  callChanges = 0;
  private abortController: AbortController | undefined;
  private pausedCalls: (() => void)[] = [];
  private ended: KernelError | undefined;
  private stopping: KernelError | undefined;
  private closing: KernelError | undefined;
  private hasSlot = true;
  private acquiring: Promise<void> | undefined;
  private isCheckScheduled = false;
  private lastSeq: number;
  private readonly replayed: RecordedRun | undefined;
  /** The calls without a recorded answer, of a run that makes no calls. */
  private newCalls: string[] | undefined;

  constructor(
    { row, goal, entries, record, replayed }: RunStart,
    private readonly table: RunTable,
    private readonly slots: Slots,
    private readonly onChange: () => void,
  ) {
    this.pid = row.pid;
    this.fence = row.fence;
    this.args = structuredClone(row.args);
    this.cwd = row.cwd;
    this.goal = goal;
    this.record = record;
    const { n, pid, root, image, generation, attempt } = row;
    this.row = { n, pid, root, image, generation, attempt };
    this.replay = new Replay(entries);
    this.renewed = findRenewedState(entries);
    this.replayed = replayed;
    this.lastSeq = entries.at(-1)?.seq ?? 0;
  }

  /** Created on demand: most bodies that wait for long never ask for it. */
  get signal(): AbortSignal {
    if (this.abortController === undefined) {
      this.abortController = new AbortController();
      // Every call under way listens to it: Node.js would warn of a leak where a body makes many at the same time.
      setMaxListeners(0, this.abortController.signal);
      this.abortSignal();
    }
    return this.abortController.signal;
  }

  /** Present once the run has ended: every call is rejected with it from then on. */
  get endReason(): KernelError | undefined {
    return this.ended;
  }

  get isStopping(): boolean {
    return this.stopping !== undefined;
  }

  /** Whether the node shuts down: an error that the body throws then is not the outcome of the process. */
  get isClosing(): boolean {
    return this.closing !== undefined;
  }

  /** Whether it holds a slot, or waits for one in order to go on. */
  get usesSlot(): boolean {
    return this.hasSlot || this.acquiring !== undefined;
  }

  /** The number of the next answer in the journal. */
  nextSeq(): number {
    return ++this.lastSeq;
  }

  /** A text that stands for the call in every run of this body, and for no other call of the process. */
  identityOf({ key }: OpenCall): string {
    const { row, renewed } = this;
    const body = renewed === undefined ? `${row.generation}` : `${row.generation}.${renewed.renewals}`;
    return sha256Hex(`${row.pid}\n${body}\n${key}`).slice(0, 32);
  }

  /** Begins a call that has an entry in the journal. Its key is fixed here. Throws the end reason, STEP_OVER. */
  beginJournalled(kind: string, name: string): OpenCall {
    return this.calls.beginJournalled(this.currentStep(), kind, name);
  }

  /** Begins a call that every run makes anew. Throws as `beginJournalled`. */
  beginLive(): OpenCall {
    return this.calls.beginLive(this.currentStep());
  }

  /** Begins a report of progress. It belongs to no step: the one that made it may be over when it is written. */
  beginReport(): OpenCall {
    if (this.ended !== undefined) throw this.ended;
    return this.calls.beginLive(undefined, true);
  }

  /** Begins a call that asks for a mark in the journal. Throws as `beginJournalled`. */
  beginMark(key: string): OpenCall {
    return this.calls.beginMark(this.currentStep(), key);
  }

  finish(call: OpenCall): void {
    this.calls.finish(call);
  }

  /** The calls that the body has made and that have no answer yet, by what they are called in the journal. */
  listOpenCalls(): string[] {
    const calls = [...this.calls.openCalls()].filter(({ isReport }) => !isReport);
    return calls.map(({ key }) => (key === '' ? 'a read' : pathOf(key)));
  }

  /** Runs an attempt of the step `call`: calls made in `work` belong to the step until its next attempt begins. */
  runAttempt<T>(call: OpenCall, work: () => T): T {
    return stepScopes.run({ run: this, call, attempt: call.beginAttempt() }, work);
  }

  /** The answer that an earlier run got, when its turn in the journal comes; undefined when the call is to be made now. */
  async replayAnswer<T>(call: OpenCall, revive: (entry: RunEntry) => Promise<T>): Promise<{ answer: T } | undefined> {
    await this.admit(call);
    const isComplete = this.replay.isComplete;
    const replayed = isComplete
      ? undefined
      : await this.whileHeldBack(call, () => this.replay.claimAnswer(call, revive));
    return replayed === undefined && this.replayed !== undefined ? this.holdNewCall(call) : replayed;
  }

  /** Whether every answer comes from a recorded journal, and no call is made. */
  get isReplayOnly(): boolean {
    return this.replayed !== undefined;
  }

  /**
   * To be awaited before a call does anything. Throws the end reason. While the node shuts down nothing new begins: the
   * promise is then rejected when the run ends, as soon as all that is under way is done or waits.
   */
  async admit(call: OpenCall): Promise<void> {
    if (this.ended !== undefined) throw this.ended;
    if (this.closing !== undefined) await this.whileHeldBack(call, () => new Promise(() => undefined));
  }

  /** The id of the record that `call` follows from: its own start, that of the step it was made in, or that of the run. */
  causeOf(call: OpenCall): string {
    return call.record ?? call.step?.record ?? this.record;
  }

  /** The hooks by which the units of `call` are fenced, held while the process is paused, and journalled. */
  hooksFor(call: OpenCall, hooks: CallHooks = {}): RunHooks {
    return new RunCallHooks(this, call, hooks);
  }

  /** First in every write unit. A process that waits is woken by it. Throws as `assertHolds`. */
  async beforeWrite(tx: WriteTx, act: Act, call: OpenCall, ignoresPause: boolean): Promise<ActingProcess> {
    const row = await this.assertHolds(tx, call, ignoresPause);
    if (row.status === 'waiting') await this.table.wake(tx, act, row);
    return toActingProcess(row);
  }

  /**
   * Throws LEASE_LOST or PROCESS_TERMINATED when the fence has moved on, which ends the run too, and PausedInterruption
   * while the process is paused.
   */
  async assertHolds(tx: ReadTx, call: OpenCall, ignoresPause: boolean): Promise<ProcessRow> {
    if (this.ended !== undefined) throw this.ended;
    const row = await this.table.find(tx, this.pid);
    if (row === undefined || row.fence !== this.fence) throw this.endByFence(row);
    if (row.status === 'paused' && !ignoresPause) throw new PausedInterruption(() => this.waitForResume(call));
    return row;
  }

  /** Waits for something that the process table shows, without a slot. Throws CANCELLED while the process is stopping. */
  whileWaiting<T>(call: OpenCall, reason: WaitReason, wait: () => Promise<T>): Promise<T> {
    const refusal = this.ended ?? this.stopping;
    if (refusal !== undefined) return Promise.reject(refusal);
    const { kind, what, on, deadline } = reason;
    const since = this.table.now();
    this.calls.block(call, deadline === undefined ? { kind, what, on, since } : { kind, what, on, since, deadline });
    return this.whileBlocked(call, wait);
  }

  /** The process is stopping: calls that wait are rejected with `reason`, others go on until the grace is over. */
  stop(reason: KernelError): void {
    if (this.stopping !== undefined) return;
    this.stopping = markRunEnd(reason);
    this.abortSignal();
    for (const { call } of this.calls.waitingCalls()) call.interrupt?.(reason);
    this.resume();
  }

  /** The node shuts down: no call begins any more, and the run ends when all open calls are blocked. */
  close(reason: KernelError): void {
    this.closing = markRunEnd(reason);
    this.abortSignal();
    this.scheduleCheck();
  }

  /** Rejects blocked calls and every later call with `reason`, and gives the slot back. Only the first end counts. */
  end(reason: KernelError): void {
    if (this.ended !== undefined) return;
    this.ended = markRunEnd(reason);
    this.abortSignal();
    for (const call of this.calls.openCalls()) call.interrupt?.(reason);
    this.notifyReplayEnd(reason);
    this.releaseSlot();
    this.onChange();
  }

  private notifyReplayEnd(reason: KernelError): void {
    if (this.replayed === undefined) return;
    const { firstUnclaimed } = this.replay;
    const unclaimed = firstUnclaimed === undefined ? {} : { unclaimed: pathOf(firstUnclaimed) };
    this.replayed.onEnd?.({ reason, ...unclaimed, newCalls: this.newCalls ?? [] });
  }

  /** Runs the units again that were interrupted by a pause. A process that is still paused interrupts them again. */
  resume(): void {
    for (const retry of this.pausedCalls.splice(0)) retry();
    this.scheduleCheck();
  }

  /** Its starts are counted from the start again: what waited for it to get on may begin. */
  notifyProgress(): void {
    this.onChange();
  }

  private holdNewCall(call: OpenCall): Promise<never> {
    this.newCalls ??= [];
    this.newCalls.push(pathOf(call.key));
    return this.whileHeldBack(call, () => new Promise<never>(() => undefined));
  }

  private abortSignal(): void {
    const reason = this.stopping ?? this.closing ?? this.ended;
    if (reason !== undefined) this.abortController?.abort(reason);
  }

  private currentStep(): OpenCall | undefined {
    if (this.ended !== undefined) throw this.ended;
    const scope = stepScopes.getStore();
    if (scope?.run !== this) return undefined;
    if (!scope.call.isCurrentAttempt(scope.attempt)) throw stepOver(scope.call.key);
    return scope.call;
  }

  private endByFence(row: ProcessRow | undefined): KernelError {
    // The end of the process raises the fence by one. A release raises it too, and so does the end of a later run.
    const isEnd = row !== undefined && isTerminal(row.status) && row.fence === this.fence + 1;
    const error = isEnd ? processTerminated(row) : leaseLost(this.pid, this.fence);
    setImmediate(() => this.end(error));
    return markRunEnd(error);
  }

  private waitForResume(call: OpenCall): Promise<void> {
    return this.whileHeldBack(call, async () => {
      const resumed = new Promise<void>((resolve) => this.pausedCalls.push(resolve));
      // The event of a resume that was committed before this line does not come again.
      if (await this.table.isPaused(this.pid)) await resumed;
    });
  }

  /** Waits for the kernel, without a slot and without the status `waiting`. */
  private whileHeldBack<T>(call: OpenCall, wait: () => Promise<T>): Promise<T> {
    this.calls.block(call);
    return this.whileBlocked(call, wait);
  }

  private async whileBlocked<T>(call: OpenCall, wait: () => Promise<T>): Promise<T> {
    try {
      return await new Promise<T>((resolve, reject) => {
        call.interrupt = reject;
        wait().then(resolve, reject);
      });
    } finally {
      call.interrupt = undefined;
      await this.acquireSlot();
      this.calls.unblock(call);
    }
  }

  /** Checks at the end of this turn of the event loop whether all calls are blocked. */
  private scheduleCheck(): void {
    if (this.isCheckScheduled || this.ended !== undefined) return;
    this.isCheckScheduled = true;
    setImmediate(() => {
      this.isCheckScheduled = false;
      if (this.ended === undefined) this.checkBlocked();
    });
  }

  /** When all calls are blocked: ends the run if the node shuts down, otherwise frees its slot and records its wait. */
  private checkBlocked(): void {
    if (this.advanceReplay() || !this.calls.isAllBlocked) return;
    if (this.closing !== undefined) {
      this.end(this.closing);
      return;
    }
    this.releaseSlot();
    this.onChange();
    if (this.newCalls !== undefined) this.replayed?.onNewCalls?.(this.newCalls);
    const waiting = this.calls.waitingCalls();
    if (waiting.length > 0)
      void this.table
        .recordWait(this, () => this.calls.isAllBlocked, waiting)
        .then((deadlock) => deadlock?.call.interrupt?.(deadlock.error));
  }

  /** Whether the replay has done something. A body that departs from its journal is ended: it would repeat effects. */
  private advanceReplay(): boolean {
    try {
      return this.replay.advance(this.calls.isAllBlocked, () => this.scheduleCheck());
    } catch (error) {
      this.end(error as KernelError);
      return true;
    }
  }

  private releaseSlot(): void {
    if (!this.hasSlot) return;
    this.hasSlot = false;
    this.slots.release();
  }

  private async acquireSlot(): Promise<void> {
    if (this.hasSlot || this.ended !== undefined) return;
    this.acquiring ??= this.slots.acquire().then(() => {
      this.acquiring = undefined;
      this.hasSlot = true;
      if (this.ended !== undefined) this.releaseSlot();
    });
    await this.acquiring;
  }
}

/** The hooks of one call. A class, because every waiting call has one, and its methods take no memory of their own. */
class RunCallHooks implements RunHooks {
  constructor(
    private readonly run: Run,
    private readonly call: OpenCall,
    private readonly hooks: CallHooks,
  ) {}

  get recordsOnly(): boolean {
    return this.hooks.ignoresPause === true;
  }

  get cause(): string {
    return this.run.causeOf(this.call);
  }

  async beforeRead(tx: ReadTx): Promise<ActingProcess> {
    return toActingProcess(await this.run.assertHolds(tx, this.call, this.recordsOnly));
  }

  beforeWrite(tx: WriteTx, act: Act): Promise<ActingProcess> {
    return this.run.beforeWrite(tx, act, this.call, this.recordsOnly);
  }

  async afterWrite(tx: WriteTx, act: Act, answer: unknown): Promise<void> {
    await this.hooks.afterWrite?.(tx, act, answer);
  }

  whileWaiting<T>(reason: WaitReason, wait: () => Promise<T>): Promise<T> {
    return this.run.whileWaiting(this.call, reason, wait);
  }
}
