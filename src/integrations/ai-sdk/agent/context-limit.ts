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
/** The part of the limit that a summary takes at most, with its first line. */
const summaryShare = 0.25;
const summaryTokensMin = 16;
/** Rounds at the end that stay where there is room for them. The last one always stays: the model has not answered it. */
const lastRounds = 3;

/** Asked for a text of at most `tokensMax`; a longer one is cut. */
type Summarize = (messages: readonly ModelMessage[], tokensMax: number) => Promise<string>;

/**
 * The conversation within `tokensMax`: old results of tools go first, then the oldest turns, which `summarize` puts into a text.
 * The first message, which has the goal, and the last turns stay; of the last turns only one, where more do not fit.
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
  const dropped = dropResults(messages, target, 2, count);
  const leftOut = note('dropped result', dropped.changed);
  /** Of the last rounds, results are left out only where nothing else helps. */
  const finish = (next: readonly ModelMessage[], left: readonly LeftOut[]): Compacted => {
    const last = dropResults(next, tokensMax, 1, count);
    return { messages: last.messages, leftOut: [...leftOut, ...left, ...note('dropped result', last.changed)] };
  };
  if (count(dropped.messages) <= tokensMax) return finish(dropped.messages, []);
  const summaryTokens = compact === 'summarize' ? Math.floor(tokensMax * summaryShare) : 0;
  const { first, oldest, last } = splitRounds(dropped.messages, target, tokensMax - summaryTokens, count);
  if (oldest.length === 0) return finish(dropped.messages, []);
  if (compact === 'drop-tools') return finish([...first, ...last], note('dropped turn', oldest));
  const textTokens = Math.max(summaryTokensMin, summaryTokens - tokensOfMessage(summaryOf(''), countTokens));
  const text = await summarize([...first, ...oldest], textTokens);
  const summary = summaryOf(cutToTokens(text, textTokens, countTokens));
  return finish([...first, summary, ...last], note('summarized', oldest));
}

function summaryOf(text: string): ModelMessage {
  return { role: 'user', content: `${summaryStart}\n\n${text}` };
}

/** A model may say more than it was asked for. */
function cutToTokens(text: string, tokensMax: number, countTokens: CountTokens | undefined): string {
  let cut = text;
  for (let tokens = estimateText(cut, countTokens); tokens > tokensMax; tokens = estimateText(cut, countTokens))
    cut = cut.slice(0, Math.floor((cut.length * tokensMax) / (tokens + 1))).toWellFormed();
  return cut;
}

/** The tokens of messages, estimated from above. */
function tokensOf(messages: readonly ModelMessage[], countTokens?: CountTokens): number {
  return messages.reduce((sum, message) => sum + tokensOfMessage(message, countTokens), 0);
}

function tokensOfMessage({ content }: ModelMessage, countTokens: CountTokens | undefined): number {
  return 4 + estimateText(typeof content === 'string' ? content : JSON.stringify(content), countTokens);
}

/** Puts a short text in the place of results, the oldest first, until there is room. Those of the last `rounds` stay. */
function dropResults(
  messages: readonly ModelMessage[],
  target: number,
  rounds: number,
  count: (messages: readonly ModelMessage[]) => number,
): { messages: ModelMessage[]; changed: ModelMessage[] } {
  const next = [...messages];
  const changed: ModelMessage[] = [];
  const until = startOfLast(messages, rounds);
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
 * The first message; the oldest rounds, as many as have to go until the others fit into `target`, or, of the last rounds, into
 * `limit`; and the rest. A round is a message of the user, or one of the assistant with the results of its calls: they are never
 * torn apart.
 */
function splitRounds(
  messages: readonly ModelMessage[],
  target: number,
  limit: number,
  count: (messages: readonly ModelMessage[]) => number,
): { first: ModelMessage[]; oldest: ModelMessage[]; last: ModelMessage[] } {
  const first = messages.slice(0, 1);
  const startOfLastRounds = startOfLast(messages, lastRounds);
  const end = startOfLast(messages, 1);
  let split = 1;
  const roomAt = (index: number) => (index < startOfLastRounds ? target : limit);
  while (split < end && count([...first, ...messages.slice(split)]) > roomAt(split)) {
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
export function summaryRequest(messages: readonly ModelMessage[], tokensMax: number): string {
  const lines = messages.map(({ role, content }) => `${role}: ${textOf(content)}`);
  const words = Math.max(10, Math.floor(tokensMax / tokensPerWord));
  return `Summarize this conversation for yourself, so that you can go on with it: the task, what was found out and decided, what is left to do. Names, numbers and ids stay exact. Use at most ${words} words.\n\n${lines.join('\n\n')}`;
}
/** By the estimate: half of the bytes of a word and its space. */
const tokensPerWord = 3;
