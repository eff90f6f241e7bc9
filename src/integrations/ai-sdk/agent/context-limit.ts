import type { ModelMessage, ToolModelMessage } from 'ai';
import { type CountTokens, estimateText } from '../model/token-estimate.js';
import type { ContextSpec } from './agent-spec.js';
import { type LeftOut, textOf } from './transcript.js';

/** A conversation within its limit, and what was left out of it. */
export interface Compacted {
  readonly messages: ModelMessage[];
  readonly leftOut: LeftOut[];
}

/** Texts that stand for what was left out. */
const droppedResult = '[left out: this result is no longer in the conversation]';
const summaryStart = 'A summary of the conversation so far, whose turns are left out:';

/** The part of the limit that a compacted conversation takes, so that not every turn has to compact again. */
const share = 0.7;
/** Rounds at the end that always stay. */
const lastRounds = 3;

type Summarize = (messages: readonly ModelMessage[]) => Promise<string>;

/**
 * The conversation within `tokensMax`: old results of tools go first, then the oldest turns, which `summarize` puts into a text.
 * The first message, which has the goal, and the last turns stay.
 */
export async function limitContext(
  messages: readonly ModelMessage[],
  { tokensMax, compact = 'summarize' }: ContextSpec,
  turn: number,
  countTokens: CountTokens | undefined,
  summarize: Summarize,
): Promise<Compacted> {
  const count = (each: readonly ModelMessage[]) => tokensOf(each, countTokens);
  if (count(messages) <= tokensMax) return { messages: [...messages], leftOut: [] };
  const target = Math.floor(tokensMax * share);
  const note = (reason: LeftOut['reason'], left: readonly ModelMessage[]) =>
    left.map(toLeftOut(turn, reason, countTokens));
  if (typeof compact === 'function') {
    const next = await compact([...messages], { tokensMax });
    return {
      messages: next,
      leftOut: note(
        'compacted',
        messages.filter((message) => !next.includes(message)),
      ),
    };
  }
  const dropped = dropResults(messages, target, count);
  const leftOut = note('dropped result', dropped.changed);
  if (count(dropped.messages) <= tokensMax) return { messages: dropped.messages, leftOut };
  const { first, oldest, last } = splitRounds(dropped.messages, target, count);
  if (oldest.length === 0) return { messages: dropped.messages, leftOut };
  if (compact === 'drop-tools')
    return { messages: [...first, ...last], leftOut: [...leftOut, ...note('dropped turn', oldest)] };
  const summary: ModelMessage = {
    role: 'user',
    content: `${summaryStart}\n\n${await summarize([...first, ...oldest])}`,
  };
  return { messages: [...first, summary, ...last], leftOut: [...leftOut, ...note('summarized', oldest)] };
}

/** The tokens of messages, estimated from above. */
function tokensOf(messages: readonly ModelMessage[], countTokens?: CountTokens): number {
  return messages.reduce((sum, message) => sum + tokensOfMessage(message, countTokens), 0);
}

function tokensOfMessage({ content }: ModelMessage, countTokens: CountTokens | undefined): number {
  return 4 + estimateText(typeof content === 'string' ? content : JSON.stringify(content), countTokens);
}

/** Puts a short text in the place of results, the oldest first, until there is room. Those of the last rounds stay. */
function dropResults(
  messages: readonly ModelMessage[],
  target: number,
  count: (messages: readonly ModelMessage[]) => number,
): { messages: ModelMessage[]; changed: ModelMessage[] } {
  const next = [...messages];
  const changed: ModelMessage[] = [];
  const until = startOfLast(messages, 2);
  let tokens = count(next);
  for (let index = 0; index < until && tokens > target; index++) {
    const message = next[index];
    if (message?.role !== 'tool') continue;
    const shorter = withoutResults(message);
    const saved = count([message]) - count([shorter]);
    if (saved <= 0) continue;
    next[index] = shorter;
    changed.push(message);
    tokens -= saved;
  }
  return { messages: next, changed };
}

function withoutResults(message: ToolModelMessage): ToolModelMessage {
  const content = message.content.map((part) =>
    part.type === 'tool-result' ? { ...part, output: { type: 'text' as const, value: droppedResult } } : part,
  );
  return { ...message, content };
}

/**
 * The first message; the oldest rounds, as many as have to go; and the rest. A round is a message of the user, or one of the
 * assistant with the results of its calls: they are never torn apart.
 */
function splitRounds(
  messages: readonly ModelMessage[],
  target: number,
  count: (messages: readonly ModelMessage[]) => number,
): { first: ModelMessage[]; oldest: ModelMessage[]; last: ModelMessage[] } {
  const first = messages.slice(0, 1);
  const end = startOfLast(messages, lastRounds);
  let split = 1;
  while (split < end && count([...first, ...messages.slice(split)]) > target) {
    split++;
    while (split < end && messages[split]?.role === 'tool') split++;
  }
  return { first, oldest: messages.slice(1, split), last: messages.slice(split) };
}

/** Where the last rounds begin. */
function startOfLast(messages: readonly ModelMessage[], rounds: number): number {
  let left = rounds;
  let index = messages.length;
  while (index > 1 && left > 0) {
    index--;
    if (messages[index]?.role !== 'tool') left--;
  }
  return index;
}

function toLeftOut(turn: number, reason: LeftOut['reason'], countTokens: CountTokens | undefined) {
  return (message: ModelMessage): LeftOut => ({
    turn,
    reason,
    role: message.role,
    text: textOf(message.content).slice(0, 80).toWellFormed(),
    tokens: tokensOfMessage(message, countTokens),
  });
}

/** The request for a summary. */
export function summaryRequest(messages: readonly ModelMessage[]): string {
  const lines = messages.map(({ role, content }) => `${role}: ${textOf(content)}`);
  return `Summarize this conversation for yourself, so that you can go on with it: the task, what was found out and decided, what is left to do. Names, numbers and ids stay exact.\n\n${lines.join('\n\n')}`;
}
