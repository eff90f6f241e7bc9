import type { AgentInputItem, Model, ModelProvider, RunConfig } from '@openai/agents-core';
import { z } from 'zod';
import type { CapabilitySpec, JsonValue, Resources, Syscalls } from '../../index.js';
import type { ToolsForOptions } from '../shared/offered-tools.js';
import { functionSchema, type TurnOptions } from '../shared/turn-options.js';
import type { ChildOptions } from './child-agent.js';
import { durableModelOptions, isModel } from './durable-model.js';
import type { AnyAgent } from './nested-runs.js';

/** An agent of the OpenAI Agents SDK as the body of a process. */
export interface AgentImageSpec extends TurnOptions {
  /** The agent. Agents that it hands off to, or that are its tools, run as child processes of the same image. */
  readonly agent: RunnableAgent;
  /** The name of the image; absent: that of the agent. */
  readonly name?: string;
  readonly version?: string;
  /** For agents without a model of their own; absent: the default model of the SDK. */
  readonly model?: Model | string;
  /** Looks up models that are given by their names; absent: the default provider of the SDK. */
  readonly modelProvider?: ModelProvider;
  /** The tools of the kernel that every agent has besides its own; absent: none. */
  readonly tools?: ToolsForOptions;
  /** The largest number of turns of each process; default 20. */
  readonly maxTurns?: number;
  /** The first input; absent: the goal and the arguments. It must be the same on every rerun of the body. */
  readonly input?: (ctx: Syscalls, args: JsonValue) => string | AgentInputItem[] | Promise<string | AgentInputItem[]>;
  /** Makes the context of the SDK that tools and instructions get. */
  readonly context?: (ctx: Syscalls) => unknown;
  /** Authority, budget and more of a child; absent: everything that its parent holds and may hand on. */
  readonly children?: (
    agent: { readonly name: string },
    ctx: Syscalls,
  ) => ChildOptions | undefined | Promise<ChildOptions | undefined>;
  /** More for the runner of the SDK, such as guardrails and tracing. */
  readonly runConfig?: Partial<Omit<RunConfig, 'model' | 'modelProvider'>>;
  /** Capabilities that a process of the image must hold; grants nothing. */
  readonly requires?: readonly CapabilitySpec<Resources>[];
  /** As in `defineImage`. Agents have one body: without it, all of them are the same build. */
  readonly build?: string;
  /** As in `defineImage`. */
  readonly recoveriesMax?: number;
}

/** An agent of the SDK, with whatever context and output. */
export interface RunnableAgent {
  readonly name: string;
  /** The system prompt, or a function that makes it. */
  readonly instructions: unknown;
  /** The agents that it may hand off to. */
  readonly handoffs: readonly unknown[];
  /** Its tools. */
  readonly tools: readonly unknown[];
  /** Makes a copy of the agent. */
  clone(config: never): unknown;
}

export const agentSettings = z.strictObject({
  agent: z.custom<AnyAgent>(isAgent, 'is not an agent of the OpenAI Agents SDK'),
  model: z.custom<Model | string>((value) => typeof value === 'string' || isModel(value), 'is not a model').optional(),
  tools: z.custom<ToolsForOptions>((value) => typeof value === 'object' && value !== null, 'are no options').optional(),
  maxTurns: z.number().int().positive().max(1_000_000).default(20),
  input: functionSchema<NonNullable<AgentImageSpec['input']>>().optional(),
  context: functionSchema<NonNullable<AgentImageSpec['context']>>().optional(),
  children: functionSchema<NonNullable<AgentImageSpec['children']>>().optional(),
  runConfig: z.custom<Partial<RunConfig>>((value) => typeof value === 'object' && value !== null).optional(),
  ...durableModelOptions.omit({ name: true }).shape,
});

/** The parsed settings of the run of an agent. */
export type AgentSettings = z.output<typeof agentSettings>;

function isAgent(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { name, clone, tools, handoffs } = value as Partial<RunnableAgent>;
  return typeof name === 'string' && typeof clone === 'function' && Array.isArray(tools) && Array.isArray(handoffs);
}
