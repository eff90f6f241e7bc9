import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import { prepareSchema, takeSchema } from '../../base/schema/answer-schema.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { Act } from '../../unit/act.js';
import type { Caller, WaitReason } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { InboxChecks } from '../message/inbox-checks.js';
import type { Message, MessageBody } from '../message/message.js';
import { restoreHandles } from '../message/message-body.js';
import { MessageRepository, type StoredMessage } from '../message/message-repository.js';
import { withValidBody } from '../message/message-schema.js';
import { Images } from '../process/images.js';
import type { ProcessRow } from '../process/process.js';
import { parse, parsePid, receiveOptions } from '../specs.js';
import { type AwaitedItem, InboxWait, refusedItem } from '../waiting/inbox-wait.js';
import type { WaitLimits } from '../waiting/process-watch.js';

@injectable()
export class Receive {
  constructor(
    @inject(InboxWait) private readonly inbox: InboxWait,
    @inject(MessageRepository) private readonly messages: MessageRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(Images) private readonly images: Images,
    @inject(InboxChecks) private readonly checks: InboxChecks,
  ) {}

  /**
   * The oldest message in the mailbox, from `from` if that is given, or the next that comes. Only one call gets it. One that
   * does not fit the schema of the image is dropped. With a schema in the options, the body is its output. Throws
   * WAIT_TIMEOUT, CANCELLED, PROCESS_TERMINATED, INVALID_INPUT for a message that does not fit, which has been taken.
   */
  run(caller: Caller, input: unknown, options: unknown = {}): Promise<Message<unknown>> {
    const pid = parsePid(input);
    const { schema, others } = takeSchema(options);
    const { from, ...limits } = parse(receiveOptions, others, 'options');
    // No async function: thousands of calls may wait here, and its frame takes memory.
    const take = () => this.takeNext(caller, pid, from, limits);
    if (schema === undefined) return take();
    return prepareSchema(schema).then(async () => withValidBody(await take(), schema));
  }

  private takeNext(caller: Caller, pid: Pid, from: Pid | undefined, limits: WaitLimits): Promise<Message> {
    return this.inbox.takeNext<Message>(
      caller,
      {
        pid,
        action: 'message.receive',
        reason: waitReasonFor(from),
        hasArrived: (tx) => this.messages.has(tx, pid, from),
        take: (tx, act, row) => this.take(tx, act, row, from),
        findCheck: (tx, row) => this.findCheck(tx, row, from),
      },
      limits,
    );
  }

  private async take(tx: WriteTx, act: Act, row: ProcessRow, sender: Pid | undefined): Promise<Message | undefined> {
    // The image has got a schema since the process was looked at.
    if (this.images.find(row.image)?.parseMessage !== undefined) return undefined;
    const stored = await this.messages.take(tx, row.pid, sender);
    return stored === undefined ? undefined : this.handOver(tx, act, row, stored, restoreHandles(stored));
  }

  /** The check is for one message; messages of the kernel fit. */
  private async findCheck(
    tx: ReadTx,
    { pid, image }: ProcessRow,
    sender: Pid | undefined,
  ): ReturnType<AwaitedItem<Message>['findCheck']> {
    const parse = this.images.find(image)?.parseMessage;
    const next = parse === undefined ? undefined : await this.messages.peek(tx, pid, sender);
    if (parse === undefined || next === undefined) return undefined;
    return async () => {
      const body = restoreHandles(next);
      const verdict = next.kind === 'message' ? await this.checks.parseMessage(parse, body) : { value: body };
      return async (unitTx, act, row) => {
        const stored = row.image === image ? await this.messages.take(unitTx, pid, sender) : undefined;
        if (stored?.id !== next.id) return undefined;
        if ('value' in verdict) return this.handOver(unitTx, act, row, next, verdict.value);
        this.recordRefusal(unitTx, act, row, next, verdict.refusal.message);
        return refusedItem;
      };
    };
  }

  private handOver(tx: WriteTx, act: Act, row: ProcessRow, stored: StoredMessage, body: MessageBody): Message {
    const { id, from, at, kind } = stored;
    this.recorder.record(tx, act, row, {
      event: 'message.received',
      data: { from, message: id },
      action: 'message.receive',
      facts: { message: id, from },
    });
    return { id, from, at, kind, body };
  }

  private recordRefusal(tx: WriteTx, act: Act, row: ProcessRow, { id, from }: StoredMessage, problem: string): void {
    this.recorder.record(tx, act, row, {
      event: 'message.refused',
      data: { from, message: id },
      action: 'message.refuse',
      facts: { message: id, from },
      payload: { problem },
    });
  }
}

function waitReasonFor(from: Pid | undefined): WaitReason {
  return { kind: 'message', what: from ?? '', on: [from === undefined ? 'message:*' : `message:${from}`] };
}
