import { setTimeout as sleep } from 'node:timers/promises';
import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { StoreError } from '../../base/errors.js';
import type { NodeId, ObjectId, Pid } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import { Logger } from '../../base/logger.js';
import { NodeIdentity } from '../../base/node-identity.js';
import { Store, type WriteTx } from '../../base/store.js';
import { Accounts } from '../../kernel/budget/accounts.js';
import type { CommandResult } from '../../kernel/command/command.js';
import { effectOf } from '../../kernel/command/command-ends.js';
import { CommandRepository, type CommandRow } from '../../kernel/command/command-repository.js';
import { ProcessEnds } from '../../kernel/lifecycle/process-ends.js';
import { type HostIdentity, NodeRepository } from '../../kernel/node/node-repository.js';
import { anonymousCommandImage, imageReference } from '../../kernel/process/images.js';
import { isTerminal, type Outcome, type OutcomeKind, type ProcessRow } from '../../kernel/process/process.js';
import { ProcessRepository } from '../../kernel/process/process-repository.js';
import { conflict, nextState, type ProcessEvent } from '../../kernel/process/transitions.js';
import { WaitRepository } from '../../kernel/waiting/wait-repository.js';
import { Objects } from '../../memory/object/objects.js';
import type { Act } from '../../unit/act.js';
import type { AuditAction } from '../../unit/actions.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';

/** What a driver holds: its writes change nothing once another node or nobody holds it. */
export interface Hold {
  readonly pid: Pid;
  readonly fence: number;
}

/** How an OS process has ended. */
export interface CommandExit {
  readonly exitCode: number | null;
  readonly signal: string | null;
}

/** The end of a command, as its driver knows it. */
export interface CommandEnd {
  /** Undefined where nobody saw it end. */
  readonly exit?: CommandExit;
  /** What becomes of it, if nobody has ordered it to stop. */
  readonly event: Extract<ProcessEvent, 'exit' | 'fail' | 'abandon'>;
  readonly outcome: Outcome;
  readonly message?: string;
  /** All that it has written. */
  readonly outputBytes: number;
  /** How long its program has run; absent: what the rows tell. */
  readonly lifeMs?: number;
  /** The result but for what only the row tells. */
  readonly result: Omit<CommandResult, 'timedOut' | 'durationMs'>;
}

const storeRetryMs = 250;
/** Of a store that fails: a program that has ended cannot end again. */
const triesMax = 20;

/** What the drivers of commands write, each in one unit that compares who holds the command. */
@injectable()
export class CommandRecords {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(CommandRepository) private readonly commands: CommandRepository,
    @inject(NodeRepository) private readonly nodes: NodeRepository,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(ProcessEnds) private readonly endings: ProcessEnds,
    @inject(WaitRepository) private readonly waits: WaitRepository,
    @inject(Objects) private readonly objects: Objects,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  /** That the program is about to be run, in the unit by which this node holds it. */
  intend(tx: WriteTx, act: Act, row: ProcessRow, command: CommandRow): void {
    this.recorder.audit(tx, { ...act, ...effectOf(row, command), outcome: 'intent', payload: { line: command.line } });
  }

  /** That it has started; the row as it is then, or undefined when it is not held any more. */
  started(hold: Hold, leader: HostIdentity): Promise<ProcessRow | undefined> {
    return this.held(hold, async (tx, act, row, command) => {
      await this.commands.update(tx, { ...command, leader });
      return this.start(tx, act, row, leader);
    });
  }

  /**
   * The end, with its result; before it the start, if that is not written. One that was being stopped ends as it was to.
   * Answers with what became of it.
   */
  ended(hold: Hold, end: CommandEnd, leader?: HostIdentity): Promise<OutcomeKind | undefined> {
    return this.held(hold, async (tx, act, found, stored) => {
      const command = leader === undefined ? stored : { ...stored, leader };
      const row = leader === undefined ? found : await this.start(tx, act, found, leader);
      const isStopped = row.status === 'stopping';
      const outcome: Outcome = isStopped ? { ...(row.stop ?? end.outcome), ...end.exit } : end.outcome;
      await this.spend(tx, act, row, command, end.outputBytes);
      const durationMs = end.lifeMs ?? act.at - (row.startedAt ?? row.createdAt);
      const value: CommandResult = { ...end.result, durationMs, timedOut: outcome.kind === 'timed_out' };
      const result = this.objects.newId();
      const payload = value as object as JsonObject;
      await this.objects.create(tx, row.pid, result, 'tool_result', payload, act.at);
      await this.endings.end(tx, act, {
        row,
        ended: nextState(row, isStopped ? 'end' : end.event),
        outcome,
        action: 'command.end',
        result,
        told: payload,
        ...(end.message === undefined ? {} : { message: end.message }),
      });
      if (!command.background) await this.waited(tx, act, row, result);
      return outcome.kind;
    });
  }

  /** It could not be started, or nobody knows that it was. */
  notStarted(hold: Hold, evidence: JsonObject): Promise<void> {
    return this.held(hold, async (tx, act, row) => {
      if (row.status === 'stopping') {
        await this.endings.endStopping(tx, act, row, 'command.end');
        return;
      }
      const outcome: Outcome = { kind: 'failed', reason: 'not_started', evidence };
      const message = typeof evidence.message === 'string' ? { message: evidence.message } : {};
      await this.endings.end(tx, act, {
        row,
        ended: nextState(row, 'fail'),
        outcome,
        action: 'command.end',
        ...message,
      });
    });
  }

  /** Orders it to stop, unless it is stopping already. */
  stop(hold: Hold, kind: 'timed_out' | 'budget_exhausted', action: AuditAction): Promise<void> {
    return this.held(hold, async (tx, act, row) => {
      const reason = kind === 'budget_exhausted' ? { reason: 'outputBytes' } : {};
      await this.endings.stop(tx, act, { rows: [row], order: { kind, by: 'kernel', ...reason }, action });
    });
  }

  /** Takes a command from a node that is gone. Undefined when somebody else was faster, or it has changed. */
  async adopt(row: ProcessRow, from: NodeId): Promise<ProcessRow | undefined> {
    const { nodeId } = this.node;
    return this.store.write(async (tx) => {
      const now = await this.processes.find(tx, row.pid);
      if (now?.version !== row.version || now.node !== from) return undefined;
      const owner = await this.nodes.find(tx, from);
      if (owner !== undefined && owner.endedAt === null && from !== nodeId) return undefined;
      const act = this.act();
      const next = { ...now, node: nodeId, fence: now.fence + 1, version: now.version + 1, updatedAt: act.at };
      if (!(await this.processes.update(tx, next))) throw conflict(now);
      this.recorder.record(tx, act, next, {
        event: 'process.adopted',
        data: { node: nodeId, from },
        action: 'process.adopt',
        before: now.status,
        after: next.status,
        facts: { node: nodeId, from, fence: next.fence },
      });
      return next;
    });
  }

  private async start(tx: WriteTx, act: Act, row: ProcessRow, leader: HostIdentity): Promise<ProcessRow> {
    if (row.status !== 'created' && row.status !== 'runnable') return row;
    const next = { ...nextState(row, 'start'), startedAt: act.at, updatedAt: act.at };
    if (!(await this.processes.update(tx, next))) throw conflict(row);
    const { nodeId } = this.node;
    this.recorder.record(tx, act, next, {
      event: 'process.started',
      data: { kind: row.kind, node: nodeId },
      action: 'process.start',
      before: row.status,
      after: next.status,
      facts: { node: nodeId, osPid: leader.pid },
    });
    return next;
  }

  /** Who runs a command in the foreground waits for it: its end has returned that wait. */
  private async waited(tx: WriteTx, act: Act, row: ProcessRow, result: ObjectId): Promise<void> {
    const { parent } = row;
    const isRun = row.image === imageReference(anonymousCommandImage);
    const waiter = parent === null || !isRun ? undefined : await this.processes.find(tx, parent);
    if (parent === null || waiter === undefined || isTerminal(waiter.status)) return;
    if (await this.waits.isReaped(tx, row)) return;
    await this.waits.reap(tx, row);
    this.recorder.record(tx, { ...act, actor: parent }, row, {
      event: 'process.waited',
      data: { by: parent },
      action: 'process.wait',
      capability: 'kin',
      facts: { result, reading: null },
    });
  }

  /** What was spent counts, whatever the limit says. */
  private async spend(tx: WriteTx, act: Act, row: ProcessRow, command: CommandRow, outputBytes: number): Promise<void> {
    const grown = Math.max(0, outputBytes - command.outputBytes);
    await this.commands.update(tx, { ...command, outputBytes: command.outputBytes + grown });
    if (grown === 0) return;
    const usage = { outputBytes: grown };
    await this.accounts.add(tx, row, usage);
    const data = { reservation: '', usage };
    this.recorder.record(tx, act, row, { event: 'budget.settled', data, action: 'budget.settle', facts: { usage } });
  }

  /** Runs a unit on what is held; what the store cannot take now it is given again. */
  private async held<T>(
    { pid, fence }: Hold,
    work: (tx: WriteTx, act: Act, row: ProcessRow, command: CommandRow) => Promise<T>,
  ): Promise<T | undefined> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.store.write(async (tx) => {
          const row = await this.processes.find(tx, pid);
          if (row === undefined || row.fence !== fence || row.node !== this.node.nodeId) return undefined;
          const command = await this.commands.find(tx, row.n);
          return command === undefined ? undefined : work(tx, this.act(), row, command);
        });
      } catch (error) {
        if (!(error instanceof StoreError) || error.code === 'KERNEL_CLOSED') throw error;
        if (!error.retryable && tries === triesMax) throw error;
        this.logger.error({ pid, error: String(error) }, 'what became of a command was not written');
        await sleep(storeRetryMs);
      }
    }
  }

  private act(): Act {
    return { actor: 'kernel', via: `host:${this.node.operator}`, at: this.clock.now() };
  }
}
