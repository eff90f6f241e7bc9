import type { ModelMessage } from 'ai';
import { isKernelError, type JsonValue, type Syscalls } from '../../../index.js';
import { messagesIn, transcriptName } from './transcript.js';

/** The transcript that an earlier program of the process has left, after `exec`; empty without one. */
export async function readEarlier(ctx: Syscalls): Promise<JsonValue[]> {
  try {
    const { payload } = await ctx.memory.read(await ctx.memory.lookup(transcriptName));
    return messagesIn(payload);
  } catch (error) {
    if (isKernelError(error, 'NO_SUCH_OBJECT')) return [];
    throw error;
  }
}

/** An earlier conversation as messages: what was said by text, and the results of tools told as such. */
export function earlierMessages(entries: readonly JsonValue[]): ModelMessage[] {
  return entries.flatMap((entry): ModelMessage[] => {
    const { role, text } = (entry ?? {}) as { readonly role?: string; readonly text?: string };
    if (typeof text !== 'string' || text === '') return [];
    if (role === 'assistant') return [{ role, content: text }];
    return [{ role: 'user', content: role === 'tool' ? `Results of tools:\n${text}` : text }];
  });
}
