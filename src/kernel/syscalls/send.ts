import { inject, injectable } from 'inversify';
import { ProcessError } from '../../base/errors.js';
import { IdSource, type Pid } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Authorization, Authorizer } from '../../capability/decision/authorizer.js';
import { plainQuestion, type Question } from '../../capability/decision/question.js';
import { type CapabilityRecord, limitFacts } from '../../capability/holding/capability-record.js';
import { parseRequest } from '../../capability/resource/resource.js';
import { factsOfApprovals } from '../../capability/rule/rule-gate.js';
import { MemoryCharges } from '../../memory/memory-charges.js';
import type { Act } from '../../unit/act.js';
import type { Call, Caller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import { type Attached, Attachments } from '../message/attachments.js';
import { InboxChecks } from '../message/inbox-checks.js';
import { type ParsedBody, parseBody } from '../message/message-body.js';
import { MessageRepository } from '../message/message-repository.js';
import type { ProcessRow } from '../process/process.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { parsePid } from '../specs.js';
import { Waker } from '../waiting/waker.js';

/** Messages of processes in one mailbox; the host has as many places of its own, and the parent those of a sender. */
const mailboxMax = 1_000;
/** Messages of one process in one mailbox. */
const senderMax = 250;

@injectable()
export class Send {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(Authorizer) private readonly authorizer: Authorizer,
    @inject(Attachments) private readonly attachments: Attachments,
    @inject(MessageRepository) private readonly messages: MessageRepository,
    @inject(MemoryCharges) private readonly charges: MemoryCharges,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(Waker) private readonly waker: Waker,
    @inject(IdSource) private readonly ids: IdSource,
    @inject(InboxChecks) private readonly checks: InboxChecks,
  ) {}

  /**
   * Appends a message to the mailbox of another process and wakes it. A process without the right and a pid that does not
   * exist are refused alike, with CAPABILITY_DENIED. Throws PROCESS_TERMINATED, MAILBOX_FULL, BUDGET_EXCEEDED, NO_SUCH_OBJECT
   * for a handle that may not be handed on, INVALID_INPUT, also for what does not fit the schema of the receiver's image.
   */
  async run(caller: Caller, input: unknown, rawTo: unknown, message: unknown): Promise<void> {
    const from = parsePid(input);
    const to = parsePid(rawTo, 'to');
    const parsed = parseBody(message);
    await this.checks.checkMessage(to, parsed, questionOf(from, to, parsed));
    await this.units.commit({ caller, actor: from, action: 'message.send', target: to }, async (tx, act) => {
      const authorization = await this.authorize(tx, act, from, to, parsed);
      const receiver = await this.lookup.getLive(tx, to);
      await this.assertRoom(tx, from, receiver);
      const attached = await this.attachments.attach(tx, act, from, to, parsed.attachments);
      await this.charges.chargeStored(tx, from, Buffer.byteLength(JSON.stringify(parsed.body)));
      await this.deliver(tx, act, receiver, { from, body: parsed.body }, authorization, attached);
    });
  }

  /**
   * A message of the host, which needs no right and is charged to nobody. Throws NO_SUCH_PROCESS, PROCESS_TERMINATED,
   * MAILBOX_FULL, NO_SUCH_OBJECT, INVALID_INPUT.
   */
  async runAsHost(caller: Caller, rawTo: unknown, message: unknown): Promise<void> {
    const to = parsePid(rawTo);
    const parsed = parseBody(message);
    await this.checks.checkMessage(to, parsed);
    const call: Call = { caller, actor: 'host', action: 'message.send', target: to };
    await this.units.commit(call, async (tx, act) => void (await this.deliverFromHost(tx, act, to, parsed)));
  }

  /** Sends a message of the host in the unit of the caller, and answers with its id. Throws as `runAsHost`. */
  async deliverFromHost(tx: WriteTx, act: Act, to: Pid, { body, attachments }: ParsedBody): Promise<string> {
    const receiver = await this.lookup.getLive(tx, to);
    if ((await this.messages.countFrom(tx, to, 'host')) >= mailboxMax)
      throw mailboxFull('host', to, 'sender', mailboxMax);
    const attached = await this.attachments.attach(tx, act, 'host', to, attachments);
    return this.deliver(tx, act, receiver, { from: 'host', body }, { capability: 'host' }, attached);
  }

  private async deliver(
    tx: WriteTx,
    act: Act,
    receiver: ProcessRow,
    { from, body }: Omit<SentMessage, 'id'>,
    authority: SendAuthority,
    attached: Attached,
  ): Promise<string> {
    const { pid: to } = receiver;
    const id = this.ids.next('message');
    const handles = attached.handles.length === 0 ? null : attached.handles;
    await this.messages.insert(tx, to, { id, from, at: act.at, kind: 'message', body, handles });
    this.recordSend(tx, act, receiver, { id, from, body }, authority, attached);
    await this.waker.wake(tx, act, to, 'message:*');
    await this.waker.wake(tx, act, to, `message:${from}`);
    return id;
  }

  /**
   * No process can take the whole mailbox, and no others together the places of the parent: the host and the parent reach it
   * always. Throws MAILBOX_FULL.
   */
  private async assertRoom(tx: ReadTx, from: Pid, { pid: to, parent }: ProcessRow): Promise<void> {
    const waiting = await this.messages.countOfProcesses(tx, to);
    if (waiting < senderMax) return;
    if ((await this.messages.countFrom(tx, to, from)) >= senderMax) throw mailboxFull(from, to, 'sender', senderMax);
    if (waiting < mailboxMax || from === parent) return;
    const ofParent = parent === null ? 0 : await this.messages.countFrom(tx, to, parent);
    if (waiting - ofParent >= mailboxMax) throw mailboxFull(from, to, 'mailbox', mailboxMax);
  }

  /** The message is part of the question, so that an approval is for this message and no other. */
  private async authorize(tx: WriteTx, act: Act, from: Pid, to: Pid, parsed: ParsedBody): Promise<Authorization> {
    await this.lookup.getLive(tx, from);
    return this.authorizer.authorize(tx, act, questionOf(from, to, parsed));
  }

  private recordSend(
    tx: WriteTx,
    act: Act,
    to: ProcessRow,
    sent: SentMessage,
    { capability, approval }: SendAuthority,
    { handles, granted, approvals: attachmentApprovals }: Attached,
  ) {
    const approvals = [...(approval === undefined ? [] : [approval]), ...attachmentApprovals];
    const given = handles.map(({ object, capability: reading }) => {
      const record = granted.get(reading);
      return { object, reading, ...(record === undefined ? {} : grantOf(record)) };
    });
    this.recorder.record(tx, act, to, {
      event: 'message.sent',
      data: { from: sent.from, message: sent.id, kind: 'message' },
      action: 'message.send',
      capability,
      approval: approvals[0],
      facts: { message: sent.id, ...(given.length === 0 ? {} : { given }), ...factsOfApprovals(approvals) },
      payload: { body: sent.body },
      lineage: given.length > 0,
    });
  }
}

function grantOf(record: CapabilityRecord): JsonObject {
  return { ...(record.parent === null ? {} : { parent: record.parent }), ...limitFacts(record) };
}

/** The authority that a message was sent under. */
type SendAuthority = { readonly capability: Authorization['capability'] | 'host' } & Pick<Authorization, 'approval'>;

function questionOf(from: Pid, to: Pid, { body, attachments }: ParsedBody): Question {
  const objects = attachments.map(({ path, object }) => ({ path, object }));
  const args: JsonObject = { message: body, ...(objects.length === 0 ? {} : { objects }) };
  return plainQuestion(from, 'send', parseRequest(`process:${to}`), args);
}

interface SentMessage {
  readonly id: string;
  readonly from: Pid | 'host';
  readonly body: ParsedBody['body'];
}

function mailboxFull(from: Pid | 'host', to: Pid, bound: 'mailbox' | 'sender', limit: number): ProcessError {
  const sender = from === 'host' ? 'the host' : `process ${from}`;
  const whose = bound === 'sender' ? ` of ${sender}` : '';
  return new ProcessError('MAILBOX_FULL', `${limit} messages${whose} wait for process ${to} already.`, {
    facts: { to, limit, bound },
    hint: 'Send it again when the receiver has taken some.',
    retryable: true,
  });
}
