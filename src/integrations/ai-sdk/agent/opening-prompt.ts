import type { ModelMessage } from 'ai';
import type { JsonValue, ObjectHandle, Syscalls } from '../../../index.js';
import { readEarlier } from './earlier-conversation.js';
import { filesIn, handlesIn } from './message-files.js';

/** The first message to the model, as it is journalled. */
export type Opening = {
  /** The goal and what belongs to it; empty for a process without a goal and arguments. */
  readonly texts: readonly string[];
  readonly files: readonly JsonValue[];
  /** The transcript of an earlier program of the process. */
  readonly earlier: readonly JsonValue[];
};

/**
 * The first messages to the model: memory, goal and arguments, then the parent of an agent that has one. A step, so a rerun
 * gets the same text.
 */
export async function openingPrompt(ctx: Syscalls, args: JsonValue, contextTokens: number): Promise<Opening> {
  return ctx.step('context', async (): Promise<Opening> => {
    const { payload } = await ctx.memory.read(ctx.goal);
    const earlier = await readEarlier(ctx);
    const memory = await memoryText(ctx, contextTokens);
    const task = [toText(payload), argumentsText(args)].filter((part) => part !== '').join('\n\n');
    if (task === '' && memory === '') return { texts: [], files: [], earlier };
    const texts = [[memory, task === '' ? 'Begin.' : task].filter((part) => part !== '').join('\n\n')];
    const parent = await ctx.parent();
    if (parent !== null) texts.push(`You are process ${ctx.pid}, and your parent is process ${parent}.`);
    return { texts, files: await filesIn(ctx, handlesIn(payload)), earlier };
  });
}

/** For an agent that was given nothing at all. */
export const emptyTask = 'Begin.';

export function toUserMessages({ texts, files }: Pick<Opening, 'texts' | 'files'>): ModelMessage[] {
  return texts.map((text, index) => userMessage(text, index === 0 ? files : []));
}

/** A message with files, which are loaded when the model is asked. */
export function userMessage(text: string, files: readonly JsonValue[] = []): ModelMessage {
  if (files.length === 0) return { role: 'user', content: text };
  return { role: 'user', content: [{ type: 'text', text }, ...(files as object[] as [])] };
}

/** The process's memory as text; empty where it holds nothing but the goal. */
async function memoryText(ctx: Syscalls, tokensMax: number): Promise<string> {
  if (tokensMax === 0) return '';
  const { text, manifest } = await ctx.memory.materialize({ tokensMax });
  const hasMore = manifest.some(({ object, included }) => included && object !== ctx.goal.id);
  return hasMore ? `What you know:\n\n${text}` : '';
}

function argumentsText(args: JsonValue): string {
  const text = toText(args);
  return typeof args === 'string' || text === '' ? text : `Arguments: ${text}`;
}

/** A string, and the text of `{ text }`, as it is; null and empty containers as nothing; everything else as JSON. */
export function toText(value: JsonValue | ObjectHandle): string {
  if (typeof value === 'string') return value;
  if (value === null || (typeof value === 'object' && Object.keys(value).length === 0)) return '';
  if (typeof value === 'object' && 'text' in value && Object.keys(value).length === 1) return String(value.text);
  return JSON.stringify(value);
}
