import type { JsonValue } from '../../index.js';
import type { CallingFace } from '../shared/calling-face.js';
import type { ToolsForOptions } from '../shared/offered-tools.js';
import { type CallableTool, callableTools } from './callable-tools.js';
import { type RequestedCall, type ResultsOptions, resultText, runCalls } from './requested-calls.js';

/** A tool for Anthropic's Messages API. `run` and `parse` are for its `toolRunner`; a request does not contain them. */
export interface AnthropicTool {
  readonly type: 'custom';
  readonly name: string;
  /** A description for the model. */
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly input_schema: { readonly type: 'object'; [member: string]: unknown };
  /** Calls the tool. A refusal is a text that the model reads. */
  readonly run: (input: unknown) => Promise<string>;
  /** The input as it is: the kernel validates it. */
  readonly parse: (input: unknown) => unknown;
}

/** An answer of the Messages API. */
export interface AnthropicMessage {
  /** Its blocks; those of the type `tool_use` are calls. */
  readonly content: readonly { readonly type: string }[];
  /** `max_tokens` for an answer that was cut off. */
  readonly stop_reason?: string | null;
}

/** A result for the next message of the user. */
export interface AnthropicToolResult {
  type: 'tool_result';
  /** The id of the block of the call. */
  tool_use_id: string;
  /** The result as a text. */
  content: string;
  /** Present for a refusal or a failure. */
  is_error?: boolean;
}

/** The tools, and what runs the calls of an answer. */
export type AnthropicTools = AnthropicTool[] & {
  /**
   * Runs the calls that a message requests, and gives their results in its order; none for a message without calls. Throws an
   * error that ends the run.
   */
  results(message: AnthropicMessage, options?: ResultsOptions): Promise<AnthropicToolResult[]>;
};

/**
 * The tools of a process for a loop with Anthropic's SDK. Throws INVALID_INPUT for a tool in `only` that the process does not
 * see.
 *
 * @example
 * const tools = await anthropicTools(ctx, { granted: true });
 * const message = await client.messages.create({ model, max_tokens: 1_024, messages, tools });
 * messages.push(message, { role: 'user', content: await tools.results(message) });
 */
export async function anthropicTools(face: CallingFace, options: ToolsForOptions = {}): Promise<AnthropicTools> {
  const callable = await callableTools(face, options);
  const results: AnthropicTools['results'] = (message, resultsOptions = {}) =>
    runCalls(callable, callsIn(message), message.stop_reason === 'max_tokens', resultsOptions, (call, called) => ({
      type: 'tool_result',
      tool_use_id: call.id,
      content: resultText(called),
      ...(called.isError === true ? { is_error: true } : {}),
    }));
  return Object.defineProperty(callable.map(toAnthropicTool), 'results', { value: results }) as AnthropicTools;
}

function toAnthropicTool({ name, description, schema, call }: CallableTool): AnthropicTool {
  return {
    type: 'custom',
    name,
    description,
    input_schema: { ...schema, type: 'object' as const },
    run: async (input) => resultText(await call((input ?? {}) as JsonValue)),
    parse: (input) => input,
  };
}

/** Tools that the provider runs have blocks of another type. */
function callsIn({ content }: AnthropicMessage): RequestedCall[] {
  return content
    .filter(({ type }) => type === 'tool_use')
    .map((block) => {
      const { id, name, input } = block as { id?: unknown; name?: unknown; input?: unknown };
      return { id: String(id), name: String(name), args: input };
    });
}
