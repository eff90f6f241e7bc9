import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { ProcessError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import { type JsonValue, sha256Hex } from '../../base/json.js';
import { keepAlive } from '../../base/keep-alive.js';
import { isAbortSignal, label, parseSpec, timeLimitMs } from '../../base/spec.js';
import { type ReadTx, Store } from '../../base/store.js';
import { AgentMessageRepository } from '../../kernel/agent/agent-message-repository.js';
import { InboxChecks } from '../../kernel/message/inbox-checks.js';
import { type ParsedBody, parseBody } from '../../kernel/message/message-body.js';
import { LiveNodes } from '../../kernel/node/live-nodes.js';
import { Images } from '../../kernel/process/images.js';
import { isTerminal, type ProcessRow } from '../../kernel/process/process.js';
import { ProcessLookup } from '../../kernel/process/process-lookup.js';
import { processTerminated } from '../../kernel/process/transitions.js';
import { parsePid } from '../../kernel/specs.js';
import { Send } from '../../kernel/syscalls/send.js';
import { AgentWatch, Notifier, type WaitLimits } from '../../kernel/waiting/process-watch.js';
import { type Call, hostCaller } from '../../unit/caller.js';
import { Units } from '../../unit/units.js';
import type { Reply } from './agent-part.js';

const sayText = z.string().min(1).max(262_144);
const sayOptions = z.strictObject({
  timeoutMs: timeLimitMs.or(z.literal(0)).optional(),
  id: label.optional(),
  signal: z.custom<AbortSignal>(isAbortSignal, 'is not an AbortSignal').optional(),
});

/** Sends a message to a conversation, and waits for the reply. */
@injectable()
export class Say {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Units) private readonly units: Units,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(Images) private readonly images: Images,
    @inject(LiveNodes) private readonly nodes: LiveNodes,
    @inject(AgentMessageRepository) private readonly messages: AgentMessageRepository,
    @inject(InboxChecks) private readonly checks: InboxChecks,
    @inject(Send) private readonly sending: Send,
    @inject(AgentWatch) private readonly watch: AgentWatch,
  ) {}

  /**
   * Throws NO_SUCH_PROCESS, INVALID_TRANSITION for a process that is no conversation, PROCESS_TERMINATED, MAILBOX_FULL,
   * CONFLICT for an id that was used for another text, WAIT_TIMEOUT, CANCELLED.
   */
  async run(input: unknown, rawText: unknown, rawOptions: unknown = {}): Promise<Reply> {
    const pid = parsePid(input);
    const text = parseSpec(sayText, rawText, 'text');
    const { id, ...limits } = parseSpec(sayOptions, rawOptions, 'options', isAbortSignal);
    const body = parseBody(text);
    await this.checks.checkMessage(pid, body);
    return this.waitForReply(pid, await this.send(pid, text, body, id), limits);
  }

  /** Answers with the id by which the reply is found. A message whose id is known is not sent again. */
  private send(pid: Pid, text: string, body: ParsedBody, id: string | undefined): Promise<string> {
    const textHash = sha256Hex(text);
    const call: Call = { caller: hostCaller, actor: 'host', action: 'message.send', target: pid };
    return this.units.commit(call, async (tx, act) => {
      const row = await this.lookup.get(tx, pid);
      const known = id === undefined ? undefined : await this.messages.find(tx, row.n, id);
      if (known !== undefined && known.textHash !== textHash) throw otherText(pid, known.id);
      if (known !== undefined) return known.id;
      if (!(await this.isConversation(tx, row))) throw noConversation(row);
      const message = await this.sending.deliverFromHost(tx, act, pid, body);
      const key = id ?? message;
      const sent = { process: row.n, id: key, message, textHash, at: act.at, reply: null, answeredAt: null };
      await this.messages.insert(tx, sent);
      return key;
    });
  }

  /** Known from the image, here or on a node that has it. */
  private async isConversation(tx: ReadTx, { image, status }: ProcessRow): Promise<boolean> {
    // One that has ended is refused for that.
    if (isTerminal(status)) return true;
    const known = this.images.find(image);
    if (known !== undefined) return known.isConversation;
    const offers = await this.nodes.findOffers(tx);
    return offers.some((offered) => offered?.images[image]?.conversation === true);
  }

  private async waitForReply(pid: Pid, id: string, limits: WaitLimits): Promise<Reply> {
    using notifier = new Notifier(limits);
    using _alive = keepAlive();
    using _watch = this.watch.watch([pid], (notified) => notifier.notify(notified));
    for (;;) {
      const reply = await this.store.read((tx) => this.findReply(tx, pid, id));
      if (reply !== undefined) return reply as object as Reply;
      if (limits.signal?.aborted === true) throw sayAborted(pid, id);
      if (notifier.expired) throw sayTimeout(pid, id, limits.timeoutMs ?? 0);
      await notifier.next();
    }
  }

  private async findReply(tx: ReadTx, pid: Pid, id: string): Promise<JsonValue | undefined> {
    const row = await this.lookup.get(tx, pid);
    const message = await this.messages.find(tx, row.n, id);
    if (message !== undefined && message.answeredAt !== null) return message.reply;
    if (isTerminal(row.status)) throw processTerminated(row);
    return undefined;
  }
}

function noConversation({ pid, image }: ProcessRow): ProcessError {
  return new ProcessError('INVALID_TRANSITION', `Process ${pid} is no conversation.`, {
    facts: { pid, image, event: 'say' },
    hint: 'Give its image `conversation: true`, and have a node open that has the image; processes.send needs neither.',
  });
}

function otherText(pid: Pid, id: string): ProcessError {
  return new ProcessError('CONFLICT', `The id ${JSON.stringify(id)} was used for another message to process ${pid}.`, {
    facts: { pid, id },
    hint: 'Use a new id for a new message.',
  });
}

function sayTimeout(pid: Pid, id: string, timeoutMs: number): ProcessError {
  return new ProcessError('WAIT_TIMEOUT', `Process ${pid} has not replied within ${timeoutMs} ms.`, {
    facts: { pid, id, timeoutMs },
    hint: 'The message is kept. Say it again with the same id to wait for its reply.',
    retryable: true,
  });
}

function sayAborted(pid: Pid, id: string): ProcessError {
  return new ProcessError('CANCELLED', `The wait for the reply of process ${pid} was given up by its caller.`, {
    facts: { pid, id },
    hint: 'The message is kept. Say it again with the same id to wait for its reply.',
    retryable: true,
  });
}
