import { AsyncLocalStorage } from 'node:async_hooks';
import { type KernelError, ProcessError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { isTerminal, type ProcessRow } from '../../kernel/process/process.js';
import type { RunEntry } from '../../kernel/process/run-entry-repository.js';
import { terminated } from '../../kernel/process/transitions.js';
import type { ObjectHandle } from '../../memory/object/object-handle.js';
import type { Act } from '../../unit/act.js';
import type { RunHooks, WaitReason } from '../../unit/caller.js';
import { PausedInterruption } from '../../unit/interruption.js';
import type { Slots } from '../node/slots.js';
import { CallTree, type OpenCall } from './call-tree.js';
import { Replay } from './replay.js';
import type { RunTable } from './run-table.js';
import { markRunEnd } from './unhandled-rejections.js';

/** What a run keeps of the row of its process. */
export type RunRow = Pick<ProcessRow, 'n' | 'pid' | 'root' | 'generation' | 'attempt'>;

/** What a run is born with. */
export interface RunStart {
  readonly row: ProcessRow;
  readonly goal: ObjectHandle;
  readonly entries: readonly RunEntry[];
}

interface Scope {
  readonly run: Run;
  readonly call: OpenCall;
  readonly attempt: number;
}

/** Which step a call is made in. */
const scopes = new AsyncLocalStorage<Scope>();

/** What a call of a run adds to its units. */
export interface CallHooks {
  /** Last in the unit, with its answer. */
  readonly leave?: (tx: WriteTx, act: Act, answer: unknown) => Promise<void>;
  /** Whether it goes on while the process is paused: what is finished is written down. */
  readonly isFinished?: boolean;
}

/** One run of a body: from the claim of its process until it ends, is fenced out or the node gives it up. */
export class Run {
  readonly pid: Pid;
  readonly fence: number;
  readonly args: JsonValue;
  readonly goal: ObjectHandle;
  readonly row: RunRow;
  readonly replay: Replay;
  cwd: string;
  private readonly tree = new CallTree(() => this.settle());
  private controller: AbortController | undefined;
  private resumes: (() => void)[] = [];
  private refusal: KernelError | undefined;
  private stopping: KernelError | undefined;
  private closing: KernelError | undefined;
  private hasSlot = true;
  private regaining: Promise<void> | undefined;
  private isSettling = false;
  private answers: number;

  constructor(
    { row, goal, entries }: RunStart,
    private readonly table: RunTable,
    private readonly slots: Slots,
    private readonly onChange: () => void,
  ) {
    this.pid = row.pid;
    this.fence = row.fence;
    this.args = row.args;
    this.cwd = row.cwd;
    this.goal = goal;
    this.row = { n: row.n, pid: row.pid, root: row.root, generation: row.generation, attempt: row.attempt };
    this.replay = new Replay(entries);
    this.answers = entries.at(-1)?.seq ?? 0;
  }

  /** Made on demand: most bodies that wait for long never ask. */
  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      this.abort();
    }
    return this.controller.signal;
  }

  /** Why nothing that the body does counts any more. */
  get over(): KernelError | undefined {
    return this.refusal;
  }

  get isStopping(): boolean {
    return this.stopping !== undefined;
  }

  /** Whether the node is about to give it up: what the body throws then is not its outcome. */
  get isClosing(): boolean {
    return this.closing !== undefined;
  }

  /** Whether it holds a place. */
  get isAtWork(): boolean {
    return this.hasSlot || this.regaining !== undefined;
  }

  /** The number of the next answer that is written down. */
  nextAnswer(): number {
    return ++this.answers;
  }

  /** A call that is kept in the journal. Its key is fixed here. */
  begin(kind: string, name: string): OpenCall {
    return this.tree.begin(this.enclosing(), kind, name);
  }

  /** A call that is made anew by every run. */
  beginUnkept(): OpenCall {
    return this.tree.beginUnkept(this.enclosing());
  }

  /** A report belongs to no step: the one that made it may be over when it is written. */
  beginReport(): OpenCall {
    if (this.refusal !== undefined) throw this.refusal;
    return this.tree.beginUnkept(undefined);
  }

  finish(call: OpenCall): void {
    this.tree.end(call);
  }

  /** Runs an attempt of a step: the calls in it are the step's, as long as it is the last attempt. */
  within<T>(call: OpenCall, work: () => T): T {
    return scopes.run({ run: this, call, attempt: call.newAttempt() }, work);
  }

  /** The answer of an earlier run, in its turn; undefined when the call has to be made now. */
  async replayed<T>(call: OpenCall, revive: (entry: RunEntry) => Promise<T>): Promise<{ answer: T } | undefined> {
    await this.goesOn(call);
    if (this.replay.isOver) return undefined;
    return this.held(call, () => this.replay.claim(call, revive));
  }

  /** A node that shuts down begins nothing new: the call waits until what is under way is done, and the run ends. */
  async goesOn(call: OpenCall): Promise<void> {
    if (this.refusal !== undefined) throw this.refusal;
    if (this.closing !== undefined) await this.held(call, () => new Promise(() => undefined));
  }

  hooks(call: OpenCall, hooks: CallHooks = {}): RunHooks {
    return new HooksOfCall(this, call, hooks);
  }

  /** First in every unit. Throws when another run or nobody holds the process, and PausedInterruption while it is paused. */
  async enter(tx: WriteTx, act: Act, call: OpenCall, isFinished: boolean): Promise<void> {
    const row = await this.assertHolds(tx, call, isFinished);
    if (row.status === 'waiting') await this.table.rouse(tx, act, row);
  }

  /** Waits with the place given back. Throws CANCELLED while the process is stopping. */
  blocked<T>(call: OpenCall, blockage: WaitReason, wait: () => Promise<T>): Promise<T> {
    const refusal = this.refusal ?? this.stopping;
    if (refusal !== undefined) return Promise.reject(refusal);
    const { kind, what, on, deadline } = blockage;
    const since = this.table.now();
    this.tree.block(call, deadline === undefined ? { kind, what, on, since } : { kind, what, on, since, deadline });
    return this.resting(call, wait);
  }

  /** The process is being stopped: what waits is given up, the rest goes on until the grace is over. */
  stop(reason: KernelError): void {
    if (this.stopping !== undefined) return;
    this.stopping = markRunEnd(reason);
    this.abort();
    for (const { call } of this.tree.blockages()) call.interrupt?.(reason);
    this.resumed();
  }

  /** The node shuts down: the run ends when all that it does is wait, and new calls do nothing else. */
  close(reason: KernelError): void {
    this.closing = markRunEnd(reason);
    this.abort();
    this.settle();
  }

  /** Refuses everything from now on, and gives the place back. */
  end(reason: KernelError): void {
    if (this.refusal !== undefined) return;
    this.refusal = markRunEnd(reason);
    this.abort();
    for (const call of this.tree.calls()) call.interrupt?.(reason);
    this.leaveSlot();
    this.onChange();
  }

  /** A pause is over, or may be. */
  resumed(): void {
    for (const resume of this.resumes.splice(0)) resume();
    this.settle();
  }

  private abort(): void {
    const reason = this.stopping ?? this.closing ?? this.refusal;
    if (reason !== undefined) this.controller?.abort(reason);
  }

  private enclosing(): OpenCall | undefined {
    if (this.refusal !== undefined) throw this.refusal;
    const scope = scopes.getStore();
    if (scope?.run !== this) return undefined;
    if (!scope.call.isAttempt(scope.attempt)) throw stepOver(scope.call);
    return scope.call;
  }

  /** Throws as `enter`. */
  async assertHolds(tx: ReadTx, call: OpenCall, isFinished: boolean): Promise<ProcessRow> {
    if (this.refusal !== undefined) throw this.refusal;
    const row = await this.table.find(tx, this.pid);
    if (row === undefined || row.fence !== this.fence) throw this.lost(row);
    if (row.status === 'paused' && !isFinished) throw new PausedInterruption(() => this.parked(call));
    return row;
  }

  private lost(row: ProcessRow | undefined): KernelError {
    // The end of the process raises the fence once; a release, and the end of another run, more often.
    const isEnd = row !== undefined && isTerminal(row.status) && row.fence === this.fence + 1;
    const error = isEnd ? terminated(row) : leaseLost(this.pid, this.fence);
    setImmediate(() => this.end(error));
    return markRunEnd(error);
  }

  private parked(call: OpenCall): Promise<void> {
    return this.held(call, async () => {
      const resumed = new Promise<void>((resolve) => this.resumes.push(resolve));
      // A resume that was committed before this began to listen rings no more.
      if (await this.table.isPaused(this.pid)) await resumed;
    });
  }

  /** Waits for the kernel itself: no status, but the place is given back. */
  private held<T>(call: OpenCall, wait: () => Promise<T>): Promise<T> {
    this.tree.block(call);
    return this.resting(call, wait);
  }

  private async resting<T>(call: OpenCall, wait: () => Promise<T>): Promise<T> {
    try {
      return await new Promise<T>((resolve, reject) => {
        call.interrupt = reject;
        wait().then(resolve, reject);
      });
    } finally {
      call.interrupt = undefined;
      await this.regainSlot();
      this.tree.unblock(call);
    }
  }

  /** Looks, at the end of this turn of the event loop, whether all calls are blocked. */
  private settle(): void {
    if (this.isSettling || this.refusal !== undefined) return;
    this.isSettling = true;
    setImmediate(() => {
      this.isSettling = false;
      if (this.refusal === undefined) this.rest();
    });
  }

  private rest(): void {
    if (this.replays() || !this.tree.isQuiet) return;
    if (this.closing !== undefined) {
      this.end(this.closing);
      return;
    }
    this.leaveSlot();
    this.onChange();
    const blockages = this.tree.blockages();
    if (blockages.length > 0)
      void this.table.block(this, () => this.tree.isQuiet, blockages).then((error) => this.refuse(error));
  }

  /** A body that goes another way than before is over: it would corrupt what it has done. */
  private replays(): boolean {
    try {
      return this.replay.turn(this.tree.isQuiet, () => this.settle());
    } catch (error) {
      this.end(error as ProcessError);
      return true;
    }
  }

  /** A call that would wait for ever is refused. */
  private refuse(refused: { readonly call: OpenCall; readonly error: KernelError } | undefined): void {
    refused?.call.interrupt?.(refused.error);
  }

  private leaveSlot(): void {
    if (!this.hasSlot) return;
    this.hasSlot = false;
    this.slots.give();
  }

  private async regainSlot(): Promise<void> {
    if (this.hasSlot || this.refusal !== undefined) return;
    this.regaining ??= this.slots.take().then(() => {
      this.regaining = undefined;
      this.hasSlot = true;
      if (this.refusal !== undefined) this.leaveSlot();
    });
    await this.regaining;
  }
}

/** The hooks of one call. A class, since every call that waits has one. */
class HooksOfCall implements RunHooks {
  constructor(
    private readonly run: Run,
    private readonly call: OpenCall,
    private readonly hooks: CallHooks,
  ) {}

  async beforeRead(tx: ReadTx): Promise<void> {
    await this.run.assertHolds(tx, this.call, this.hooks.isFinished === true);
  }

  beforeWrite(tx: WriteTx, act: Act): Promise<void> {
    return this.run.enter(tx, act, this.call, this.hooks.isFinished === true);
  }

  async afterWrite(tx: WriteTx, act: Act, answer: unknown): Promise<void> {
    await this.hooks.leave?.(tx, act, answer);
  }

  whileWaiting<T>(blockage: WaitReason, wait: () => Promise<T>): Promise<T> {
    return this.run.blocked(this.call, blockage, wait);
  }
}

function stepOver({ key }: OpenCall): ProcessError {
  return new ProcessError('STEP_OVER', 'The step that made this call is over.', {
    facts: { step: key.replaceAll('\n', ' > ') },
    hint: 'Await every call that a step makes, and heed its time limit.',
  });
}

export function leaseLost(pid: Pid, fence: number): ProcessError {
  return new ProcessError('LEASE_LOST', `This run does not hold process ${pid} any more.`, {
    facts: { pid, fence },
    hint: 'Another run has it, or somebody has ended it; nothing that this one does counts.',
  });
}
