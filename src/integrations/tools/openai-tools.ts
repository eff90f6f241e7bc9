import type { JsonObject } from '../../index.js';
import type { CallingFace } from '../shared/calling-face.js';
import type { ToolsForOptions } from '../shared/offered-tools.js';
import { type CallableTool, callableTools } from './callable-tools.js';
import { type RequestedCall, type ResultsOptions, resultText, runCalls } from './requested-calls.js';

/** Options of `openaiTools`. */
export interface OpenAIToolsOptions extends ToolsForOptions {
  /** The API that the loop asks: Chat Completions, which is the default, or Responses. */
  readonly api?: 'chat' | 'responses';
}

/** A tool for Chat Completions. `function` and `parse` of it are for `runTools`; a request does not contain them. */
export interface OpenAIChatTool {
  readonly type: 'function';
  /** Its definition, and what calls it. */
  readonly function: {
    readonly name: string;
    readonly description: string;
    readonly parameters: Record<string, unknown>;
    /** Calls the tool. A refusal is a text that the model reads. */
    readonly function: (args: string) => Promise<string>;
  };
}

/** A tool for Responses. */
export interface OpenAIResponsesTool {
  readonly type: 'function';
  readonly name: string;
  /** A description for the model. */
  readonly description: string;
  /** JSON Schema of the arguments. */
  readonly parameters: Record<string, unknown>;
  /** Not by OpenAI's own subset of JSON Schema: the kernel validates. */
  readonly strict: false;
}

/** An answer of Chat Completions. */
export interface OpenAICompletion {
  /** The first one is the answer. */
  readonly choices: readonly {
    readonly message: { readonly tool_calls?: readonly unknown[] | null };
    readonly finish_reason?: string | null;
  }[];
}

/** An answer of Responses. */
export interface OpenAIResponse {
  /** Its items; those of the type `function_call` are calls. */
  readonly output: readonly { readonly type: string }[];
  readonly status?: string | null;
}

/** A result for the next messages of Chat Completions. */
export interface OpenAIToolMessage {
  /** Always `tool`. */
  role: 'tool';
  /** The id of the call. */
  tool_call_id: string;
  /** The result as a text. */
  content: string;
}

/** A result for the next input of Responses. */
export interface OpenAICallOutput {
  type: 'function_call_output';
  /** The id of the call. */
  call_id: string;
  /** The result as a text. */
  output: string;
}

/** The tools for Chat Completions, and what runs the calls of an answer. */
export type OpenAIChatTools = OpenAIChatTool[] & {
  /** Runs the calls that the first choice requests, and gives their results in its order. Throws an error that ends the run. */
  results(completion: OpenAICompletion, options?: ResultsOptions): Promise<OpenAIToolMessage[]>;
};

/** The tools for Responses, and what runs the calls of an answer. */
export type OpenAIResponsesTools = OpenAIResponsesTool[] & {
  /** Runs the calls that the response requests, and gives their results in its order. Throws an error that ends the run. */
  results(response: OpenAIResponse, options?: ResultsOptions): Promise<OpenAICallOutput[]>;
};

/**
 * The tools of a process for a loop with OpenAI's SDK. Throws INVALID_INPUT for a tool in `only` that the process does not see.
 *
 * @example
 * const tools = await openaiTools(ctx, { granted: true });
 * const completion = await client.chat.completions.create({ model, messages, tools });
 * messages.push(completion.choices[0].message, ...(await tools.results(completion)));
 */
export async function openaiTools(
  face: CallingFace,
  options: OpenAIToolsOptions & { readonly api: 'responses' },
): Promise<OpenAIResponsesTools>;
export async function openaiTools(face: CallingFace, options?: OpenAIToolsOptions): Promise<OpenAIChatTools>;
export async function openaiTools(
  face: CallingFace,
  { api = 'chat', ...options }: OpenAIToolsOptions = {},
): Promise<OpenAIChatTools | OpenAIResponsesTools> {
  const callable = await callableTools(face, options);
  if (api === 'responses') {
    const results: OpenAIResponsesTools['results'] = (response, resultsOptions = {}) =>
      runCalls(
        callable,
        callsInResponse(response),
        response.status === 'incomplete',
        resultsOptions,
        (call, called) => ({
          type: 'function_call_output',
          call_id: call.id,
          output: resultText(called),
        }),
      );
    const tools = callable.map(toResponsesTool);
    return Object.defineProperty(tools, 'results', { value: results }) as OpenAIResponsesTools;
  }
  const results: OpenAIChatTools['results'] = (completion, resultsOptions = {}) =>
    runCalls(callable, callsInCompletion(completion), isCutOff(completion), resultsOptions, (call, called) => ({
      role: 'tool',
      tool_call_id: call.id,
      content: resultText(called),
    }));
  return Object.defineProperty(callable.map(toChatTool), 'results', { value: results }) as OpenAIChatTools;
}

function toChatTool(tool: CallableTool): OpenAIChatTool {
  const { name, description, schema } = tool;
  const run = async (args: string) => {
    const [text] = await runCalls([tool], [{ id: '', name, args }], false, {}, (_, called) => resultText(called));
    return text ?? '';
  };
  return { type: 'function', function: { name, description, parameters: toParameters(schema), function: run } };
}

function toResponsesTool({ name, description, schema }: CallableTool): OpenAIResponsesTool {
  return { type: 'function', name, description, parameters: toParameters(schema), strict: false };
}

function toParameters(schema: JsonObject): Record<string, unknown> {
  return { ...schema, type: 'object' };
}

function isCutOff({ choices: [choice] }: OpenAICompletion): boolean {
  return choice?.finish_reason === 'length' || choice?.finish_reason === 'content_filter';
}

function callsInCompletion({ choices: [choice] }: OpenAICompletion): RequestedCall[] {
  return (choice?.message.tool_calls ?? []).map((call) => {
    const { id, function: requested } = call as { id?: unknown; function?: { name?: unknown; arguments?: unknown } };
    return { id: String(id), name: String(requested?.name), args: requested?.arguments };
  });
}

function callsInResponse({ output }: OpenAIResponse): RequestedCall[] {
  return output
    .filter(({ type }) => type === 'function_call')
    .map((item) => {
      const { call_id, name, arguments: args } = item as { call_id?: unknown; name?: unknown; arguments?: unknown };
      return { id: String(call_id), name: String(name), args };
    });
}
