import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import { type Token, token } from '../../base/token.js';
import type { AgentPart, Reply } from './agent-part.js';
import { AgentStreams } from './agent-stream.js';
import { Say } from './say.js';

/** Options of `say`. */
export interface SayOptions {
  /** WAIT_TIMEOUT when it is over; the message is kept. */
  readonly timeoutMs?: number;
  /** The same id again sends nothing, and waits for the same reply, also after a restart. */
  readonly id?: string;
  /** Ends the wait; the message is kept. */
  readonly signal?: AbortSignal;
}

/** Processes that say something turn by turn, as the host talks with them and listens to them. */
export interface AgentService {
  /**
   * Sends a message to a conversation, and waits for its reply: the answer that ends the turns which began after the process
   * took the message. Messages that are taken together share one reply. Throws NO_SUCH_PROCESS, INVALID_TRANSITION for a
   * process whose image is no conversation, PROCESS_TERMINATED, MAILBOX_FULL, CONFLICT for an id that was used for another
   * text, WAIT_TIMEOUT, CANCELLED.
   *
   * @example const { text } = await kernel.agents.say(pid, 'And in French?', { id: 'message-7' });
   */
  say(pid: Pid, text: string, options?: SayOptions): Promise<Reply>;
  /**
   * What an agent says and does, each part once, up to its end: first the turns that are committed, then, in the program that
   * runs it, text as it comes, elsewhere whole turns. Where `turn-start` comes again with the same number, the turn began anew,
   * and what was told of it is void. Ends when `signal` aborts or the kernel is shut down. Throws NO_SUCH_PROCESS.
   *
   * @example for await (const part of kernel.agents.stream(pid)) if (part.type === 'text') process.stdout.write(part.text);
   */
  stream(pid: Pid, options?: { readonly signal?: AbortSignal }): AsyncIterable<AgentPart>;
}
export const AgentService: Token<AgentService> = token('AgentService');

@injectable()
export class HostAgentService implements AgentService {
  constructor(
    @inject(Say) private readonly saying: Say,
    @inject(AgentStreams) private readonly streams: AgentStreams,
  ) {}

  say = async (pid: Pid, text: string, options?: SayOptions): Promise<Reply> => this.saying.run(pid, text, options);

  stream = (pid: Pid, options?: { readonly signal?: AbortSignal }): AsyncIterable<AgentPart> =>
    this.streams.read(pid, options);
}
