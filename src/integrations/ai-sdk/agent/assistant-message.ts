import type { AssistantModelMessage } from 'ai';
import type { JsonValue } from '../../../index.js';
import { argumentsIn } from '../../shared/turn-parts.js';
import type { ModelPart } from '../model/model-call.js';
import { finishReasonOf, type StoredAnswer } from '../model/stored-answer.js';
import { fileTypes } from '../model/stored-files.js';

/** A tool call that the model requests. */
export interface RequestedCall {
  /** The model's id of the call; its result is returned under it. */
  readonly id: string;
  /** The model's name for the tool. */
  readonly alias: string;
  readonly input: JsonValue;
}

/** Finish reasons after which the last tool call may be incomplete. */
const truncatingReasons: ReadonlySet<string> = new Set(['length', 'content-filter', 'error']);

/** The calls that are to be made: not those of an answer that was cut off, nor those that the provider has made itself. */
export function callsIn({ content, finishReason }: StoredAnswer): RequestedCall[] {
  if (truncatingReasons.has(finishReasonOf(finishReason))) return [];
  return content
    .filter(({ type, providerExecuted }) => type === 'tool-call' && providerExecuted !== true)
    .map(({ toolCallId, toolName, input }) => ({
      id: String(toolCallId),
      alias: String(toolName),
      input: argumentsIn(input),
    }));
}

export function textIn({ content }: StoredAnswer): string {
  return content.map((part) => (part.type === 'text' ? String(part.text) : '')).join('');
}

/** The answer as a message of the conversation. Files that the model generated are not sent back to it. */
export function assistantMessage(answer: StoredAnswer): AssistantModelMessage[] {
  const parts = answer.content.flatMap(toMessagePart);
  return parts.length === 0 ? [] : [{ role: 'assistant', content: parts as object[] as [] }];
}

function toMessagePart(part: ModelPart): object[] {
  const { type, text, toolCallId, toolName, input, result, isError, providerExecuted, providerMetadata } = part;
  const options = providerMetadata === undefined ? {} : { providerOptions: providerMetadata };
  if (fileTypes.has(type)) return [];
  switch (type) {
    case 'text':
      return text === '' ? [] : [{ type, text, ...options }];
    case 'reasoning':
      return [{ type, text, ...options }];
    case 'tool-call':
      return [
        {
          type,
          toolCallId,
          toolName,
          input: argumentsIn(input),
          ...(providerExecuted === true ? { providerExecuted } : {}),
          ...options,
        },
      ];
    case 'tool-result':
      return [
        {
          type,
          toolCallId,
          toolName,
          output: { type: isError === true ? 'error-json' : 'json', value: result ?? null },
        },
      ];
    default:
      // Sources, and parts of later versions, are for the reader of the answer.
      return [];
  }
}
