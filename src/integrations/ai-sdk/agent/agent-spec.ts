import type { ModelMessage, StopCondition, ToolChoice, ToolSet } from 'ai';
import { z } from 'zod';
import type { CapabilitySpec, JsonObject, Resources, Schema } from '../../../index.js';
import type { ModelUsage } from '../../shared/model-usage.js';
import { parseInput } from '../../shared/parse-input.js';
import { functionSchema } from '../../shared/turn-options.js';
import { docsPage } from '../docs-page.js';
import { isModel, type ModelSource } from '../model/agent-model.js';
import { type GovernedModelOptions, governedOptionsSchema } from '../model/governed-options.js';

/** Options of a provider by its name, as the AI SDK takes them. */
export type ProviderOptions = Readonly<Record<string, JsonObject>>;

/** The limit of a conversation, and what is done when it is passed. */
export interface ContextSpec {
  /** The most tokens of the conversation that a turn is given, estimated from above. */
  readonly tokensMax: number;
  /**
   * `drop-tools` leaves out old results of tools, then the oldest turns. `summarize` (the default) leaves out old results,
   * then has the model summarize the oldest turns, in a turn of its own. A function answers with the messages to go on with;
   * it must give the same ones on every rerun. The goal and the last turns stay.
   */
  readonly compact?:
    | 'drop-tools'
    | 'summarize'
    | ((messages: ModelMessage[], limit: { readonly tokensMax: number }) => ModelMessage[] | Promise<ModelMessage[]>);
}

/** What `prepareTurn` is told. */
export interface TurnFacts {
  /** The number of the turn, from 1. */
  readonly turn: number;
  /** The conversation so far. */
  readonly messages: readonly ModelMessage[];
  /** The tokens of all turns so far. */
  readonly usage: ModelUsage;
}

/** Changes of one turn. What is absent is as the agent says. */
export interface TurnChanges {
  /** The system prompt. */
  readonly system?: string;
  /** Only these of its tools are shown, by the kernel's names. */
  readonly tools?: readonly string[];
  /** Which tool the model is to call. */
  readonly toolChoice?: ToolChoice<ToolSet>;
  /** Passed to the model. */
  readonly providerOptions?: ProviderOptions;
  /** Passed to the model. */
  readonly temperature?: number;
}

/** An agent: an image whose body asks a model and calls the tools that the model wants. */
export interface AgentSpec
  extends Pick<GovernedModelOptions, 'maxOutputTokens' | 'cost' | 'retry' | 'record' | 'countTokens'> {
  readonly name: string;
  readonly version?: string;
  /**
   * A model of the AI SDK, or a function that returns the model of a process, the same one on every rerun of the body.
   * A process needs `call` on `modelResource(model)`.
   */
  readonly model: ModelSource;
  /** The system prompt. */
  readonly system?: string;
  /**
   * The tools that are shown to the model. `granted` (the default): those that the process may call when a turn begins, and
   * `capability.request`. A list, also with `NAME/**`, or `all`: these, whether or not it may call them.
   */
  readonly tools?: 'granted' | 'all' | readonly string[];
  /** The largest number of turns of an answer; default 20. */
  readonly maxTurns?: number;
  /** Passed to the model. */
  readonly temperature?: number;
  /** Passed to the model. */
  readonly toolChoice?: ToolChoice<ToolSet>;
  /** Passed to the model. */
  readonly providerOptions?: ProviderOptions;
  /** How often a turn is repeated after a transient failure of the model; `retry` has more. */
  readonly maxRetries?: number;
  /** Ends the answer after the tool calls of a turn: conditions of the AI SDK, such as `hasToolCall('submit')`. */
  readonly stopWhen?: StopCondition<ToolSet> | readonly StopCondition<ToolSet>[];
  /** Changes a turn before it begins. It must answer the same on every rerun. */
  readonly prepareTurn?: (facts: TurnFacts) => TurnChanges | undefined | Promise<TurnChanges | undefined>;
  /** The number of tokens of memory in the first message; default 4,000, 0 for none. */
  readonly contextTokens?: number;
  /** Limits the conversation. */
  readonly context?: ContextSpec;
  /**
   * Keeps the process after its answer: it waits for the next message of `kernel.agents.say`, without a slot, until it is
   * ended, or for `idleMs`. Default false.
   */
  readonly conversation?: boolean | { readonly idleMs?: number };
  /** Schema of the arguments, which the model is given beside the goal. */
  readonly input?: Schema;
  /** Schema of the result: the last answer is an object of it. One that does not fit is mended in one more turn. */
  readonly output?: Schema;
  /** Capabilities that a process of the image must hold; grants nothing. */
  readonly requires?: readonly CapabilitySpec<Resources>[];
  /** As in `defineImage`. Agents have one body: without it, all of them are the same build. */
  readonly build?: string;
  /** As in `defineImage`. */
  readonly recoveriesMax?: number;
}

const count = z.number().int().positive().max(1_000_000);
const agent = z.strictObject({
  ...governedOptionsSchema,
  model: z.custom<ModelSource>(
    (value) => typeof value === 'function' || isModel(value),
    'is not a language model of the AI SDK, nor a function that answers with one',
  ),
  system: z.string().optional(),
  tools: z.union([z.enum(['granted', 'all']), z.array(z.string())]).default('granted'),
  maxTurns: count.default(20),
  temperature: z.number().optional(),
  toolChoice: z.custom<ToolChoice<ToolSet>>((value) => value !== null, 'is not a choice of a tool').optional(),
  providerOptions: z
    .record(
      z.string(),
      z.custom<JsonObject>((value) => typeof value === 'object' && value !== null),
    )
    .optional(),
  maxRetries: z.number().int().nonnegative().max(100).optional(),
  stopWhen: z
    .union([functionSchema<StopCondition<ToolSet>>(), z.array(functionSchema<StopCondition<ToolSet>>())])
    .optional(),
  prepareTurn: functionSchema<NonNullable<AgentSpec['prepareTurn']>>().optional(),
  contextTokens: z.number().int().nonnegative().max(1_000_000).default(4_000),
  context: z
    .strictObject({
      tokensMax: z.number().int().min(100),
      compact: z
        .union([
          z.enum(['drop-tools', 'summarize']),
          functionSchema<Extract<ContextSpec['compact'], (...args: never) => unknown>>(),
        ])
        .default('summarize'),
    })
    .optional(),
  conversation: z
    .union([z.boolean(), z.strictObject({ idleMs: z.number().int().positive().optional() })])
    .default(false),
  output: z.custom<Schema>().optional(),
});

/** The parsed settings of the agent's loop. */
export type Agent = z.output<typeof agent>;

/** Splits the spec into the image's parts and the settings of the loop. Throws INVALID_INPUT with the path. */
export function parseAgent(spec: AgentSpec): { readonly agent: Agent; readonly image: ImageParts } {
  const { name, version, input, requires, build, recoveriesMax, ...rest } = spec;
  const parsed = parseInput(agent, rest, 'agent', docsPage);
  const { maxRetries, retry, tools, output } = parsed;
  const settings = maxRetries === undefined ? parsed : { ...parsed, retry: { ...retry, attempts: maxRetries + 1 } };
  const parts = {
    version,
    tools: typeof tools === 'string' ? undefined : tools,
    input,
    output,
    requires,
    build,
    recoveriesMax,
    conversation: parsed.conversation === false ? undefined : true,
  };
  const definedParts = Object.entries(parts).filter(([, part]) => part !== undefined);
  return { agent: settings, image: { name, ...Object.fromEntries(definedParts) } };
}

type ImageParts = Pick<AgentSpec, 'name' | 'version' | 'input' | 'output' | 'requires' | 'build' | 'recoveriesMax'> & {
  readonly tools?: readonly string[];
  readonly conversation?: boolean;
};
