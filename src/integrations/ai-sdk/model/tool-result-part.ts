import type { JsonValue, TurnPart } from '../../../index.js';
import { toStorable } from '../../shared/storable.js';

/** Of a longer result, readers of the turns get the beginning; an object of the process has all of it. */
const resultCharsMax = 65_536;

/** The result of a tool call, in the form that it has in a prompt, for readers of the turns. */
export function resultPart(id: string, tool: string, output: JsonValue): TurnPart {
  const { type, value } = (output ?? {}) as { readonly type?: string; readonly value?: JsonValue };
  const result = toStorable(value ?? output ?? null);
  const text = JSON.stringify(result);
  return {
    type: 'tool-result',
    id: id.slice(0, 512) || '?',
    tool: tool.slice(0, 256) || '?',
    result: text.length <= resultCharsMax ? result : text.slice(0, resultCharsMax).toWellFormed(),
    ...(type?.startsWith('error') === true || type === 'execution-denied' ? { isError: true } : {}),
  };
}
