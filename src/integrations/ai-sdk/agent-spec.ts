import { z } from 'zod';
import type { CapabilitySpec, Resources, RetryPolicy, Schema } from '../../index.js';
import { isModel, type ModelSource } from './agent-model.js';
import type { ModelUsage } from './model-usage.js';
import { parseInput } from './parse-input.js';

/** An agent: an image whose body asks a model and calls the tools that the model wants. */
export interface AgentSpec {
  readonly name: string;
  readonly version?: string;
  /**
   * A model of the AI SDK, or a function that returns the model of a process, the same one on every rerun of the body.
   * A process needs `call` on `modelResource(model)`.
   */
  readonly model: ModelSource;
  /** The system prompt. */
  readonly system?: string;
  /** The tools that are shown to the model; absent: all. Seeing a tool is not authority to call it. */
  readonly tools?: readonly string[];
  /** The largest number of turns; default 20. */
  readonly maxTurns?: number;
  /** The most tokens of one answer of the model. */
  readonly maxOutputTokens?: number;
  /** Passed to the model. */
  readonly temperature?: number;
  /** The number of tokens of memory in the first message; default 4,000, 0 for none. */
  readonly contextTokens?: number;
  /** The price of a turn in whole micro-USD. Without it only tokens are charged. */
  readonly cost?: (usage: ModelUsage) => number;
  /** Schema of the arguments, which the model is given beside the goal. */
  readonly input?: Schema;
  /** Capabilities that a process of the image must hold; grants nothing. */
  readonly requires?: readonly CapabilitySpec<Resources>[];
  /** The retry policy for transient failures of the model; default 3 attempts. */
  readonly retry?: RetryPolicy;
  /** As in `defineImage`. Agents have one body: without it, all of them are the same build. */
  readonly build?: string;
  /** As in `defineImage`. */
  readonly recoveriesMax?: number;
}

const functionSchema = <T>() => z.custom<T>((value) => typeof value === 'function', 'is not a function');
const count = z.number().int().positive().max(1_000_000);
const retry = z.strictObject({
  attempts: z.number().int().min(1).max(1_000),
  baseMs: z.number().int().nonnegative().optional(),
  factor: z.number().min(1).optional(),
  maxMs: z.number().int().nonnegative().optional(),
  jitter: z.number().min(0).max(1).optional(),
  permanent: functionSchema<NonNullable<RetryPolicy['permanent']>>().optional(),
});
const agent = z.strictObject({
  model: z.custom<ModelSource>(
    (value) => typeof value === 'function' || isModel(value),
    'is not a language model of the AI SDK, nor a function that answers with one',
  ),
  system: z.string().optional(),
  maxTurns: count.default(20),
  maxOutputTokens: count.optional(),
  temperature: z.number().optional(),
  contextTokens: z.number().int().nonnegative().max(1_000_000).default(4_000),
  cost: functionSchema<(usage: ModelUsage) => number>().optional(),
  retry: retry.default({ attempts: 3, baseMs: 1_000, jitter: 0.5 }),
});

/** The parsed settings of the agent's loop. */
export type Agent = z.output<typeof agent>;

/** Splits the spec into the image's parts and the settings of the loop. Throws INVALID_INPUT with the path. */
export function parseAgent(spec: AgentSpec): { readonly agent: Agent; readonly image: ImageParts } {
  const { name, version, tools, input, requires, build, recoveriesMax, ...rest } = spec;
  const parts = { version, tools, input, requires, build, recoveriesMax };
  const definedParts = Object.entries(parts).filter(([, part]) => part !== undefined);
  return { agent: parseInput(agent, rest, 'agent'), image: { name, ...Object.fromEntries(definedParts) } };
}

type ImageParts = Pick<AgentSpec, 'name' | 'version' | 'tools' | 'input' | 'requires' | 'build' | 'recoveriesMax'>;
