import { InputError } from '../index.js';
import { countAnswered } from './answered-turns.js';
import type {
  ModelAnswer,
  ModelCall,
  ModelContent,
  ModelStreamPart,
  ModelUsageReport,
  PromptMessage,
  SpecificationVersion,
} from './model-specification.js';
import type { ScriptedTurn, ScriptedUsage, TurnSource } from './scripted-turn.js';

/** Options of `scriptedModel`. */
export interface ScriptedModelOptions<Version extends SpecificationVersion = 'v3'> {
  /** Default `scripted`: processes need `call` on `model:PROVIDER/MODELID`. */
  readonly provider?: string;
  /** Default `test`. */
  readonly modelId?: string;
  /** The version of the AI SDK's specification of models: `v3` (default) for `ai` 6 and 7, `v4` for `ai` 7. */
  readonly specificationVersion?: Version;
  /** The usage of turns that state none. */
  readonly usage?: ScriptedUsage;
}

/** A language model of the AI SDK that follows a script. */
export interface ScriptedModel<Version extends SpecificationVersion = 'v3'> {
  /** The version of the interface of the AI SDK. */
  readonly specificationVersion: Version;
  /** The provider, as in `model:PROVIDER/ID`. */
  readonly provider: string;
  /** The name of the model. */
  readonly modelId: string;
  /** Always empty: it fetches no URLs. */
  readonly supportedUrls: Record<string, RegExp[]>;
  /** The prompt of each call, in order. */
  readonly prompts: readonly (readonly PromptMessage[])[];
  /** The options of each call, in order: the prompt, the tools that were offered, the limits. */
  readonly calls: readonly ModelCall[];
  /** Answers with the next turn of the script; called by the AI SDK. */
  doGenerate(call: ModelCall): Promise<ModelAnswer>;
  /** As `doGenerate`, as a stream. */
  doStream(call: ModelCall): Promise<{ stream: ReadableStream<ModelStreamPart> }>;
}

/**
 * A language model of the AI SDK that answers with the given turns, in order, and records its prompts. It needs neither a key
 * nor the network. A turn whose answer is in the prompt already is not given again, so that a new model with the same script
 * goes on after a restart where the old one was. Throws INVALID_INPUT when it is asked for more turns than it has.
 *
 * @example
 * const model = scriptedModel([{ toolCalls: [{ name: 'weather', args: { city: 'Oslo' } }] }, 'It rains in Oslo.']);
 * const kernel = await createTestKernel({ images: [agentImage({ name: 'agent', model })] });
 */
export function scriptedModel<Version extends SpecificationVersion = 'v3'>(
  turns: readonly TurnSource[],
  options: ScriptedModelOptions<Version> = {},
): ScriptedModel<Version> {
  const { provider = 'scripted', modelId = 'test', usage = {} } = options;
  const specificationVersion = (options.specificationVersion ?? 'v3') as Version;
  const calls: ModelCall[] = [];
  let taken = 0;

  async function answer(call: ModelCall): Promise<ModelAnswer> {
    calls.push(call);
    const index = Math.max(taken, countAnswered(turns, call.prompt));
    taken = index + 1;
    const source = turns[index];
    if (source === undefined) throw scriptOver(`${provider}/${modelId}`, turns.length, index + 1);
    const turn = typeof source === 'function' ? await source(call.prompt, call) : source;
    if (typeof turn === 'object' && 'error' in turn) throw toError(turn.error);
    return toAnswer(turn, index, call, usage);
  }

  return {
    specificationVersion,
    provider,
    modelId,
    supportedUrls: {},
    calls,
    get prompts() {
      return calls.map(({ prompt }) => prompt);
    },
    doGenerate: answer,
    doStream: async (call) => ({ stream: toStream(await answer(call)) }),
  };
}

type AnsweringTurn = Exclude<ScriptedTurn, { readonly error: unknown }>;

function toAnswer(turn: AnsweringTurn, index: number, call: ModelCall, usage: ScriptedUsage): ModelAnswer {
  const parts = typeof turn === 'string' ? { text: turn } : turn;
  const { text = '', toolCalls = [], finishReason = toolCalls.length === 0 ? 'stop' : 'tool-calls' } = parts;
  return {
    content: [
      ...(text === '' ? [] : [{ type: 'text' as const, text }]),
      ...toolCalls.map(({ name, args = {} }, position) => ({
        type: 'tool-call' as const,
        toolCallId: `call-${index + 1}-${position + 1}`,
        toolName: offeredName(name, call),
        input: typeof args === 'string' ? args : JSON.stringify(args),
      })),
    ],
    finishReason: { unified: finishReason, raw: undefined },
    usage: toReport({ ...usage, ...parts.usage }),
    warnings: [],
  };
}

/** Models are offered `fs.read` as `fs_read`. */
function offeredName(name: string, { tools = [] }: ModelCall): string {
  const offered = name.replaceAll(/[^A-Za-z0-9_-]/g, '_');
  return tools.some((tool) => tool.name === name) ? name : offered;
}

function toReport({ inputTokens = 10, outputTokens = 5 }: ScriptedUsage): ModelUsageReport {
  return {
    inputTokens: { total: inputTokens, noCache: inputTokens, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: outputTokens, text: outputTokens, reasoning: 0 },
  };
}

function toStream({ content, finishReason, usage, warnings }: ModelAnswer): ReadableStream<ModelStreamPart> {
  const parts: ModelStreamPart[] = [
    { type: 'stream-start', warnings },
    ...content.flatMap(toStreamParts),
    { type: 'finish', finishReason, usage },
  ];
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

/** A text comes word by word. */
function toStreamParts(content: ModelContent, index: number): ModelStreamPart[] {
  if (content.type === 'tool-call') {
    const { toolCallId: id, toolName, input } = content;
    return [
      { type: 'tool-input-start', id, toolName },
      { type: 'tool-input-delta', id, delta: input },
      { type: 'tool-input-end', id },
      content,
    ];
  }
  const id = `text-${index + 1}`;
  const words = content.text.match(/\s*\S+\s*/g) ?? [content.text];
  return [
    { type: 'text-start', id },
    ...words.map((delta) => ({ type: 'text-delta' as const, id, delta })),
    { type: 'text-end', id },
  ];
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

function scriptOver(model: string, turns: number, asked: number): InputError {
  const have = turns === 1 ? 'has 1 turn' : `has ${turns} turns`;
  return new InputError('INVALID_INPUT', `The script of the model ${model} ${have}, and was asked for turn ${asked}.`, {
    facts: { path: 'script', problem: 'has no more turns', model, turns, asked },
    hint: 'Add a turn to the script, or find out why the model is asked again: its prompts are recorded.',
  });
}
