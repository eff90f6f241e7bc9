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

/** Whoever has stopped it knows. */
const untold: ReadonlySet<OutcomeKind> = new Set(['cancelled', 'killed', 'parent_exited']);

/** What the end of a command brings about besides that of any process, in the same unit. */
@injectable()
export class CommandEnds {
  constructor(
    @inject(CommandRepository) private readonly commands: CommandRepository,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(MessageRepository) private readonly messages: MessageRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(Waker) private readonly wakes: Waker,
    @inject(IdSource) private readonly ids: IdSource,
  ) {}

  /**
   * Writes the outcome of its effect down, and tells its parent if it ran in the background. `row` is as it was before the
   * end; one that no node has driven had no effect. `body` is what the parent is told.
   */
  async ended(tx: WriteTx, act: Act, row: ProcessRow, outcome: Outcome, body: JsonObject): Promise<void> {
    const command = row.kind === 'command' && row.node !== null ? await this.commands.find(tx, row.n) : undefined;
    if (command === undefined) return;
    this.record(tx, act, row, command, outcome);
    if (command.background && !untold.has(outcome.kind)) await this.tell(tx, act, row, outcome, body);
  }

  private record(tx: WriteTx, act: Act, row: ProcessRow, command: CommandRow, outcome: Outcome): void {
    const { kind, exitCode = null, signal = null } = outcome;
    this.recorder.audit(tx, {
      ...act,
      ...effectOf(row, command),
      outcome: kind === 'completed' ? 'ok' : kind === 'abandoned' ? 'unknown' : 'failed',
      facts: { outcome: kind, exitCode, signal },
    });
  }

  /** Outside the bound of the mailbox: the kernel cannot be held back. */
  private async tell(tx: WriteTx, act: Act, row: ProcessRow, outcome: Outcome, body: JsonObject): Promise<void> {
    const parent = row.parent === null ? undefined : await this.processes.find(tx, row.parent);
    if (parent === undefined || isTerminal(parent.status)) return;
    const message = this.ids.next('message');
    const kind = 'command.ended';
    const told = { pid: row.pid, outcome: outcome.kind, ...body };
    await this.messages.insert(tx, parent.pid, {
      id: message,
      from: row.pid,
      at: act.at,
      kind,
      body: told,
      handles: null,
    });
    this.recorder.record(tx, act, parent, {
      event: 'message.sent',
      data: { from: row.pid, message, kind },
      action: 'message.send',
      facts: { message, kind, from: row.pid },
    });
    await this.wakes.wake(tx, act, parent.pid, 'message:*');
    await this.wakes.wake(tx, act, parent.pid, `message:${row.pid}`);
  }
}

/** What the records of the intent and of the outcome have in common. */
export function effectOf({ pid, bornUnder, generation }: ProcessRow, command: CommandRow) {
  const { resource, capability, approval } = command;
  // One that has taken the program for itself did it by its own authority.
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
