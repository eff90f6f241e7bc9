import { inject, injectable } from 'inversify';
import { IdSource } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import type { WriteTx } from '../../base/store.js';
import type { Act } from '../../unit/act.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { MessageRepository } from '../message/message-repository.js';
import { isTerminal, type Outcome, type OutcomeKind, type ProcessRow } from '../process/process.js';
import { ProcessRepository } from '../process/process-repository.js';
import { Waker } from '../waiting/waker.js';
import { CommandRepository, type CommandRow } from './command-repository.js';

/** Outcomes that are not reported to the parent, because somebody else caused them and knows of them. */
const unreportedOutcomes: ReadonlySet<OutcomeKind> = new Set(['cancelled', 'killed', 'parent_exited']);

/** Adds to the end of a process what the end of a command needs: the outcome of its effect, and a message to its parent. */
@injectable()
export class CommandEnds {
  constructor(
    @inject(CommandRepository) private readonly commands: CommandRepository,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(MessageRepository) private readonly messages: MessageRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(Waker) private readonly waker: Waker,
    @inject(IdSource) private readonly ids: IdSource,
  ) {}

  /**
   * Records the outcome of the effect, and sends the parent a message if the command ran in the background. `row`: the row
   * before the end; a command that no node has driven, or that was adopted, is no effect. `body`: added to the message.
   */
  async recordEnd(tx: WriteTx, act: Act, row: ProcessRow, outcome: Outcome, body: JsonObject): Promise<void> {
    const command = row.kind === 'command' && row.node !== null ? await this.commands.find(tx, row.n) : undefined;
    if (command === undefined || command.adopted !== null) return;
    this.recordOutcome(tx, act, row, command, outcome);
    if (command.background && !unreportedOutcomes.has(outcome.kind))
      await this.reportToParent(tx, act, row, outcome, body);
  }

  private recordOutcome(tx: WriteTx, act: Act, row: ProcessRow, command: CommandRow, outcome: Outcome): void {
    const { kind, exitCode = null, signal = null } = outcome;
    this.recorder.recordAudit(tx, {
      ...act,
      ...effectOf(row, command),
      outcome: kind === 'completed' ? 'ok' : kind === 'abandoned' ? 'unknown' : 'failed',
      facts: { outcome: kind, exitCode, signal },
      ...(command.intent === null ? {} : { cause: command.intent }),
    });
  }

  /** A full mailbox does not refuse this message. */
  private async reportToParent(
    tx: WriteTx,
    act: Act,
    row: ProcessRow,
    outcome: Outcome,
    body: JsonObject,
  ): Promise<void> {
    const parent = row.parent === null ? undefined : await this.processes.find(tx, row.parent);
    if (parent === undefined || isTerminal(parent.status)) return;
    const message = this.ids.next('message');
    const kind = 'command.ended';
    await this.messages.insert(tx, parent.pid, {
      id: message,
      from: row.pid,
      at: act.at,
      kind,
      body: { pid: row.pid, outcome: outcome.kind, ...body },
      handles: null,
    });
    this.recorder.record(tx, act, parent, {
      event: 'message.sent',
      data: { from: row.pid, message, kind },
      action: 'message.send',
      facts: { message, kind, from: row.pid },
    });
    await this.waker.wake(tx, act, parent.pid, 'message:*');
    await this.waker.wake(tx, act, parent.pid, `message:${row.pid}`);
  }
}

/** The fields that the audit records of the intent and of the outcome of a command share. */
export function effectOf({ pid, bornUnder, generation }: ProcessRow, command: CommandRow) {
  const { resource, capability, approval } = command;
  // After exec the command runs by the authority of the process itself.
  const actor = generation > 1 ? pid : (bornUnder ?? 'host');
  return {
    actor,
    action: 'command.run',
    target: pid,
    right: 'call',
    effectId: pid,
    resource,
    capability,
    approval: approval ?? undefined,
  } as const;
}
