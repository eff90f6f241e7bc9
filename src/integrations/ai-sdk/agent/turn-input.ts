import type { ModelMessage } from 'ai';
import { isKernelError, type JsonValue, type Message, type ProcessRecord, type Syscalls } from '../../../index.js';
import { filterGranted } from '../../shared/offered-tools.js';
import { toolNames } from '../../tool-names.js';
import type { Agent } from './agent-spec.js';
import { filesIn, handlesIn } from './message-files.js';
import { toText, userMessage } from './opening-prompt.js';
import { findEnded } from './tracked-children.js';

/** What a turn begins with, as it is journalled. */
export type TurnInput = {
  /** What came since the last turn: texts with their files. */
  readonly news: readonly { readonly text: string; readonly files: readonly JsonValue[] }[];
  /** Children whose ends the model has been told of by this turn. */
  readonly ended: readonly string[];
  /** The tools that the model is shown, by the kernel's names. */
  readonly tools: readonly string[];
  /** The kernel's names of all tools that it sees, by the names that a model uses. */
  readonly aliases: Readonly<Record<string, string>>;
};

/** Always shown: by it a process asks for what it may not do. */
const requestTool = 'capability.request';

/** Messages that one turn takes from the mailbox. */
const messagesMax = 100;

/** Drains the mailbox if the turn takes messages, looks which of the children have ended, and finds out which tools the process may call now. A step. */
export function takeTurnInput(
  ctx: Syscalls,
  agent: Agent,
  turn: number,
  children: readonly string[],
  takesMessages: boolean,
): Promise<TurnInput> {
  return ctx.step(`input of turn ${turn}`, async (): Promise<TurnInput> => {
    const messages = takesMessages ? await drainMailbox(ctx) : [];
    const news = await Promise.all(messages.map((message) => toNews(ctx, agent, message)));
    const reported = messages.flatMap(endedIn);
    const ends = await findEnded(
      ctx,
      children.filter((pid) => !reported.includes(pid)),
    );
    const visible = (await ctx.tools.list()).filter(({ external }) => external !== true);
    const shown = agent.tools === 'granted' ? await filterGranted(ctx, visible, requestTool) : visible;
    return {
      news: [...news, ...ends.map((child) => ({ text: textOfEnd(child), files: [] }))],
      ended: [...reported, ...ends.map(({ pid }) => pid)],
      tools: shown.map(({ name }) => name),
      aliases: Object.fromEntries(toolNames(visible)),
    };
  });
}

export function newsMessages({ news }: TurnInput): ModelMessage[] {
  return news.map(({ text, files }) => userMessage(text, files));
}

/** A message as the model reads it, with its sender. */
export async function toNews(
  ctx: Syscalls,
  agent: Agent,
  message: Message,
): Promise<{ text: string; files: readonly JsonValue[] }> {
  const { from, kind, body } = message;
  const text = toText(JSON.parse(JSON.stringify(body)) as JsonValue);
  const files = await filesIn(ctx, handlesIn(body));
  if (kind !== 'message') return { text: `Notice (${kind}) of process ${from}: ${text}`, files };
  // In a conversation the host is the person whom the agent talks with.
  if (from === 'host') return { text: agent.conversation === false ? `Message of the host:\n\n${text}` : text, files };
  return { text: `Message of process ${from}:\n\n${text}`, files };
}

async function drainMailbox(ctx: Syscalls): Promise<Message[]> {
  const messages: Message[] = [];
  try {
    while (messages.length < messagesMax) messages.push(await ctx.receive({ timeoutMs: 0 }));
  } catch (error) {
    if (!isKernelError(error, 'WAIT_TIMEOUT')) throw error;
  }
  return messages;
}

/** The command whose end a message of the kernel tells. */
function endedIn({ kind, from }: Message): string[] {
  return kind === 'command.ended' ? [from] : [];
}

function textOfEnd({ pid, image, name, kind, status, outcome, message }: ProcessRecord): string {
  const what = kind === 'command' ? 'command' : `child (${image})`;
  const named = name === undefined ? '' : ` ${JSON.stringify(name)}`;
  const exitCode =
    outcome?.exitCode === undefined || outcome.exitCode === null ? '' : `, exit code ${outcome.exitCode}`;
  const reason = message === undefined ? '' : `: ${message}`;
  return `Your ${what} ${pid}${named} has ended: ${outcome?.kind ?? status}${exitCode}${reason}`;
}
