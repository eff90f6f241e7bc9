import type { JsonValue } from '../../../index.js';
import type { ModelPart } from './model-call.js';
import { toReport } from './reported-usage.js';
import type { StoredAnswer } from './stored-answer.js';

/** The answer as the parts of a stream, with `content` in it. */
export function toStreamParts(version: string, answer: StoredAnswer, content: readonly ModelPart[]): ModelPart[] {
  return [
    { type: 'stream-start', warnings: answer.warnings },
    responsePart(answer),
    ...content.flatMap(toParts),
    finishPart(version, answer),
  ];
}

export function finishPart(version: string, { finishReason, usage, providerMetadata }: StoredAnswer): ModelPart {
  return {
    type: 'finish',
    finishReason,
    usage: toReport(version, usage),
    ...(providerMetadata === undefined ? {} : { providerMetadata }),
  };
}

function responsePart({ response }: StoredAnswer): ModelPart {
  const { timestamp, ...others } = response;
  return {
    type: 'response-metadata',
    ...others,
    ...(timestamp === undefined ? {} : { timestamp: new Date(timestamp) }),
  };
}

function toParts(part: ModelPart, index: number): ModelPart[] {
  const metadata = part.providerMetadata === undefined ? {} : { providerMetadata: part.providerMetadata };
  if (part.type === 'text' || part.type === 'reasoning') {
    const id = `${part.type}-${index + 1}`;
    return [
      { type: `${part.type}-start`, id, ...metadata },
      { type: `${part.type}-delta`, id, delta: part.text },
      { type: `${part.type}-end`, id, ...metadata },
    ];
  }
  if (part.type !== 'tool-call') return [part];
  const { toolCallId: id, toolName, input, providerExecuted } = part as { [member: string]: JsonValue };
  const executed = providerExecuted === undefined ? {} : { providerExecuted };
  return [
    { type: 'tool-input-start', id, toolName, ...executed },
    { type: 'tool-input-delta', id, delta: typeof input === 'string' ? input : JSON.stringify(input) },
    { type: 'tool-input-end', id },
    part,
  ];
}
