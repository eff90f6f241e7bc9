import type { ModelMessage } from 'ai';
import type { JsonObject, Syscalls } from '../../index.js';
import { refusalIn } from './tool-error-value.js';

/** How long the texts of a transcript may be: each, and together. */
const textMax = 4_000;
const textsMax = 150_000;

/**
 * Keeps what was said as an object of the process, made from its goal. It is there for people: where the process may not make
 * it, the agent ends as well.
 */
export async function keepTranscript(ctx: Syscalls, messages: readonly ModelMessage[]): Promise<void> {
  try {
    const payload = { messages: shortened(messages) };
    await ctx.memory.create({ type: 'message', title: 'transcript', payload, sources: [ctx.goal] });
  } catch (error) {
    refusalIn(ctx, error);
  }
}

function shortened(messages: readonly ModelMessage[]): JsonObject[] {
  let left = textsMax;
  return messages.flatMap(({ role, content }) => {
    const text = cut(typeof content === 'string' ? content : JSON.stringify(content));
    left -= text.length;
    return left < 0 ? [] : [{ role, text }];
  });
}

function cut(text: string): string {
  return text.length <= textMax ? text : `${text.slice(0, textMax)}…`.toWellFormed();
}
