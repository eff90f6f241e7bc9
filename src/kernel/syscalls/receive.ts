import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import type { Act } from '../../unit/act.js';
import type { Caller, WaitReason } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import type { Message } from '../message/message.js';
import { restoreHandles } from '../message/message-body.js';
import { MessageRepository } from '../message/message-repository.js';
import type { ProcessRow } from '../process/process.js';
import { parse, parsePid, receiveOptions } from '../specs.js';
import { InboxWait } from '../waiting/inbox-wait.js';

@injectable()
export class Receive {
  constructor(
    @inject(InboxWait) private readonly inbox: InboxWait,
    @inject(MessageRepository) private readonly messages: MessageRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /**
   * The oldest message in the mailbox, from `from` if that is given, or the next that comes. Only one call gets it. Throws
   * WAIT_TIMEOUT, CANCELLED, PROCESS_TERMINATED.
   */
  async run(caller: Caller, input: unknown, options: unknown = {}): Promise<Message> {
    const pid = parsePid(input);
    const { from, ...limits } = parse(receiveOptions, options, 'options');
    return this.inbox.takeNext<Message>(
      caller,
      {
        pid,
        action: 'message.receive',
        reason: waitReasonFor(from),
        hasArrived: (tx) => this.messages.has(tx, pid, from),
        take: (tx, act, row) => this.take(tx, act, row, from),
      },
      limits,
    );
  }

  private async take(tx: WriteTx, act: Act, row: ProcessRow, sender: Pid | undefined): Promise<Message | undefined> {
    const stored = await this.messages.take(tx, row.pid, sender);
    if (stored === undefined) return undefined;
    const { id, from, at, kind } = stored;
    this.recorder.record(tx, act, row, {
      event: 'message.received',
      data: { from, message: id },
      action: 'message.receive',
      facts: { message: id, from },
    });
    return { id, from, at, kind, body: restoreHandles(stored) };
  }
}

function waitReasonFor(from: Pid | undefined): WaitReason {
  return { kind: 'message', what: from ?? '', on: [from === undefined ? 'message:*' : `message:${from}`] };
}
