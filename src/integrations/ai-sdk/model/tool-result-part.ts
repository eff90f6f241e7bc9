import type { JsonValue } from '../../../index.js';
import type { ToldResult } from '../../shared/turn-parts.js';

/** The result of a tool call in a prompt, for readers of the turns. */
export function toToldResult(part: object): ToldResult {
  const { toolCallId, output } = part as { readonly toolCallId?: unknown; readonly output?: unknown };
  const { type, value } = (output ?? {}) as { readonly type?: string; readonly value?: JsonValue };
  const isError = type?.startsWith('error') === true || type === 'execution-denied';
  return { id: toolCallId, value: value ?? output, isError };
}
