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
import { anonymousCommandImage } from '../../kernel/process/images.js';
import {
  isTerminal,
  type Outcome,
  type OutcomeKind,
  type ProcessRow,
  stopOrderOf,
} from '../../kernel/process/process.js';
import { ProcessRepository, saveProcess } from '../../kernel/process/process-repository.js';
import { nextState, type ProcessEvent } from '../../kernel/process/transitions.js';
import { WaitRepository } from '../../kernel/waiting/wait-repository.js';
import { ObjectWriter, storedBytesOf } from '../../memory/object/object-writer.js';
import type { Act } from '../../unit/act.js';
import type { AuditAction } from '../../unit/actions.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';

/** A command as its driver holds it: what it writes has no effect once the row has another fence or another node. */
export interface FencedCommand {
  readonly pid: Pid;
  readonly fence: number;
}

/** The exit of an OS process. */
export interface CommandExit {
  readonly exitCode: number | null;
  readonly signal: string | null;
}

/** The end of a command, as its driver reports it. */
export interface CommandEnd {
  /** Absent when the exit was not observed. */
  readonly exit?: CommandExit;
  /** The transition to make, unless the process was ordered to stop. */
  readonly event: Extract<ProcessEvent, 'exit' | 'fail' | 'abandon'>;
  readonly outcome: Outcome;
  readonly message?: string;
  /** The size of its whole output. */
  readonly outputBytes: number;
  /** The run time of its program; absent: taken from the times of the row. */
  readonly runtimeMs?: number;
  /** The result without the fields that are taken from the row. */
  readonly result: Omit<CommandResult, 'timedOut' | 'durationMs'>;
}

const storeRetryMs = 250;
/** Attempts to write to a store that fails: the end of a program cannot be repeated. */
const attemptsMax = 20;

/** What the record of an intent tells of arguments that a person has edited. */
export interface EditedIntent {
  readonly facts: JsonObject;
  readonly payload: JsonObject;
}

/** Records the start, the end and the adoption of commands, each in one unit that checks the fence. */
@injectable()
export class CommandRecorder {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(CommandRepository) private readonly commands: CommandRepository,
    @inject(NodeRepository) private readonly nodes: NodeRepository,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(ProcessEnds) private readonly processEnds: ProcessEnds,
    @inject(WaitRepository) private readonly waits: WaitRepository,
    @inject(ObjectWriter) private readonly objects: ObjectWriter,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  /** Records that the program is about to run, in the unit by which this node takes the command. */
  async recordIntent(
    tx: WriteTx,
    act: Act,
    row: ProcessRow,
    command: CommandRow,
    shownEnvironment: JsonObject,
    edited?: EditedIntent,
  ): Promise<void> {
    const intent = this.recorder.recordAudit(tx, {
      ...act,
      ...effectOf(row, command),
      outcome: 'intent',
      ...(edited === undefined ? {} : { facts: edited.facts }),
      payload: { line: command.line, ...shownEnvironment, ...edited?.payload },
    });
    await this.commands.setIntent(tx, row.n, intent);
  }

  /** Gives the row in its new state; undefined when this node does not hold it any more. */
  recordStart(fenced: FencedCommand, leader: HostIdentity): Promise<ProcessRow | undefined> {
    return this.writeFenced(fenced, async (tx, act, row, command) => {
      await this.commands.update(tx, { ...command, leader });
      return this.startRow(tx, act, row, leader);
    });
  }

  /**
   * Records the end with its result; before it the start, if `leader` is given because that was not recorded. A process
   * that was being stopped ends as it was ordered to. Undefined when this node does not hold it any more.
   */
  recordEnd(fenced: FencedCommand, end: CommandEnd, leader?: HostIdentity): Promise<OutcomeKind | undefined> {
    return this.writeFenced(fenced, async (tx, act, currentRow, currentCommand) => {
      const command = leader === undefined ? currentCommand : { ...currentCommand, leader };
      const row = leader === undefined ? currentRow : await this.startRow(tx, act, currentRow, leader);
      const isStopped = row.status === 'stopping';
      const outcome: Outcome = isStopped ? { ...(stopOrderOf(row) ?? end.outcome), ...end.exit } : end.outcome;
      await this.settleOutput(tx, act, row, command, end.outputBytes);
      const durationMs = end.runtimeMs ?? act.at - (row.startedAt ?? row.createdAt);
      const value: CommandResult = { ...end.result, durationMs, timedOut: outcome.kind === 'timed_out' };
      const payload = value as object as JsonObject;
      const object = this.objects.prepare(row.pid, this.objects.newId(), 'tool_result', payload, act.at);
      await this.objects.insert(tx, object);
      await this.accounts.addStored(tx, row, storedBytesOf(object));
      const result = object.id;
      await this.processEnds.end(tx, act, {
        row,
        ended: nextState(row, isStopped ? 'end' : end.event),
        outcome,
        action: 'command.end',
        result,
        notice: payload,
        ...(end.message === undefined ? {} : { message: end.message }),
      });
      if (!command.background) await this.recordWait(tx, act, row, result);
      return outcome.kind;
    });
  }

  /** Ends a process whose program could not be started, or of which it is not known that it was. */
  recordNotStarted(fenced: FencedCommand, evidence: JsonObject): Promise<void> {
    return this.writeFenced(fenced, async (tx, act, row) => {
      if (row.status === 'stopping') {
        await this.processEnds.endStopping(tx, act, row, 'command.end');
        return;
      }
      const outcome: Outcome = { kind: 'failed', reason: 'not_started', evidence };
      const message = typeof evidence.message === 'string' ? { message: evidence.message } : {};
      await this.processEnds.end(tx, act, {
        row,
        ended: nextState(row, 'fail'),
        outcome,
        action: 'command.end',
        ...message,
      });
    });
  }

  /** Orders the process to stop, unless it is stopping already; at the limit of its output without time to end. */
  orderStop(fenced: FencedCommand, kind: 'timed_out' | 'budget_exhausted', action: AuditAction): Promise<void> {
    return this.writeFenced(fenced, async (tx, act, row) => {
      const reason = kind === 'budget_exhausted' ? { reason: 'outputBytes' } : {};
      const graceMs = kind === 'budget_exhausted' ? 0 : undefined;
      await this.processEnds.stop(tx, act, { rows: [row], order: { kind, by: 'kernel', ...reason }, graceMs, action });
    });
  }

  /** Takes a command from a node that is gone. Undefined when another node has taken it, or the row has changed. */
  async adopt(row: ProcessRow, from: NodeId): Promise<ProcessRow | undefined> {
    const { nodeId } = this.node;
    return this.store.write(async (tx) => {
      const current = await this.processes.find(tx, row.pid);
      if (current?.version !== row.version || current.node !== from) return undefined;
      const owner = await this.nodes.find(tx, from);
      if (owner !== undefined && owner.endedAt === null && from !== nodeId) return undefined;
      const act = this.act();
      const next = {
        ...current,
        node: nodeId,
        fence: current.fence + 1,
        version: current.version + 1,
        updatedAt: act.at,
      };
      await saveProcess(this.processes, tx, next);
      this.recorder.record(tx, act, next, {
        event: 'process.adopted',
        data: { node: nodeId, from },
        action: 'process.adopt',
        before: current.status,
        after: next.status,
        facts: { node: nodeId, from, fence: next.fence },
      });
      return next;
    });
  }

  /**
   * Ends an adopted program that is gone: as it was ordered to, if it was being stopped, otherwise as abandoned. Undefined
   * when this node does not hold it any more.
   */
  recordAdoptedGone(fenced: FencedCommand, reason: string, facts: JsonObject): Promise<OutcomeKind | undefined> {
    return this.writeFenced(fenced, async (tx, act, row) => {
      if (row.status === 'stopping') {
        await this.processEnds.endStopping(tx, act, row, 'command.end');
        return row.stop?.kind ?? 'cancelled';
      }
      const outcome: Outcome = { kind: 'abandoned', reason, evidence: { kind: reason, ...facts } };
      await this.processEnds.end(tx, act, { row, ended: nextState(row, 'abandon'), outcome, action: 'command.end' });
      return outcome.kind;
    });
  }

  /** Records the start of a program, unless it is recorded, in the caller's unit. Gives the row in its new state. */
  async startRow(
    tx: WriteTx,
    act: Act,
    row: ProcessRow,
    leader: HostIdentity,
    startedAt = act.at,
  ): Promise<ProcessRow> {
    if (!isUnstarted(row.status) && !(row.status === 'paused' && isUnstarted(row.previous))) return row;
    // One that was paused while its program was being started stays paused, with a command that runs behind it.
    const started =
      row.status === 'paused'
        ? ({ ...row, previous: 'running', version: row.version + 1 } as const)
        : nextState(row, 'start');
    const next: ProcessRow = { ...started, startedAt, updatedAt: act.at };
    await saveProcess(this.processes, tx, next);
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

  /** Records that the caller of a command in the foreground has waited for it, if that is still to be done. */
  private async recordWait(tx: WriteTx, act: Act, row: ProcessRow, result: ObjectId): Promise<void> {
    const { parent } = row;
    const isRun = row.image === anonymousCommandImage.reference;
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

  /** Charges the output that was not charged yet, also beyond the limit. */
  private async settleOutput(
    tx: WriteTx,
    act: Act,
    row: ProcessRow,
    command: CommandRow,
    outputBytes: number,
  ): Promise<void> {
    const growth = Math.max(0, outputBytes - command.outputBytes);
    await this.commands.update(tx, { ...command, outputBytes: command.outputBytes + growth });
    if (growth === 0) return;
    const usage = { outputBytes: growth };
    await this.accounts.addUsage(tx, row, usage);
    const data = { reservation: '', usage };
    this.recorder.record(tx, act, row, { event: 'budget.settled', data, action: 'budget.settle', facts: { usage } });
  }

  /** Runs a unit if this node still holds the command, otherwise gives undefined. Repeats it when the store fails. */
  private async writeFenced<T>(
    { pid, fence }: FencedCommand,
    work: (tx: WriteTx, act: Act, row: ProcessRow, command: CommandRow) => Promise<T>,
  ): Promise<T | undefined> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.store.write(async (tx) => {
          const row = await this.processes.find(tx, pid);
          if (row === undefined || row.fence !== fence || row.node !== this.node.nodeId) return undefined;
          const command = await this.commands.find(tx, row.n);
          return command === undefined ? undefined : work(tx, this.act(), row, command);
        });
      } catch (error) {
        if (!(error instanceof StoreError) || error.code === 'KERNEL_CLOSED') throw error;
        if (!error.retryable && attempt === attemptsMax) throw error;
        this.logger.error({ pid, error: String(error) }, 'a change of a command was not recorded');
        await sleep(storeRetryMs);
      }
    }
  }

  private act(): Act {
    return { actor: 'kernel', via: `host:${this.node.operator}`, at: this.clock.now() };
  }
}

function isUnstarted(status: ProcessRow['previous']): boolean {
  return status === 'created' || status === 'runnable';
}
