import { InputError, type JsonValue, type ToolCallOptions } from '../../index.js';

/** The page of the documentation that hints name. */
export const page = 'docs/api/openai-agents.md';

/** The arguments of a call, which the SDK passes as text. Throws INVALID_INPUT. */
export function parseArguments(tool: string, text: string): JsonValue {
  try {
    return text === '' ? {} : (JSON.parse(text) as JsonValue);
  } catch {
    throw new InputError('INVALID_INPUT', `args: is not JSON: ${text.slice(0, 200)}`, {
      facts: { path: 'args', problem: 'is not JSON', tool },
      hint: `Give the arguments of ${tool} as one JSON object.`,
    });
  }
}

/** Gives a call up with the call of the SDK that it belongs to. */
export function callOptions(signal: AbortSignal | undefined): ToolCallOptions {
  return signal === undefined ? {} : { signal };
}
