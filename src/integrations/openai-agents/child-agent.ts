import type { Model, ModelRequest, ModelResponse, StreamEvent } from '@openai/agents-core';
import type { ChildSpec, JsonValue, Syscalls } from '../../index.js';
import { type AgentStep, toArgs } from './agent-path.js';
import type { AgentRunResult } from './agent-result.js';
import type { AgentsPackage } from './agents-package.js';
import { toStreamEvents } from './model-response.js';
import type { AnyAgent } from './nested-runs.js';

/** The parts of the spec of a child that an image decides on. */
export type ChildOptions = Omit<ChildSpec, 'image' | 'args' | 'goal' | 'id' | 'held'>;

/** A place where an agent leads to another one. */
export interface ChildPlace {
  readonly sdk: AgentsPackage;
  readonly ctx: Syscalls;
  /** The way from the agent of the image to the child. */
  readonly path: readonly AgentStep[];
  readonly optionsOf: (agent: AnyAgent) => Promise<ChildOptions>;
}

/** Runs for a run of the SDK in the place of `agent`, which a child process runs. */
export function toChildAgent(agent: AnyAgent, place: ChildPlace): AnyAgent {
  return agent.clone({
    model: new ChildModel(agent, place),
    // The child has them.
    instructions: '',
    tools: [],
    handoffs: [],
    mcpServers: [],
    inputGuardrails: [],
    outputGuardrails: [],
    modelSettings: {},
  });
}

/** A model whose turn is the whole run of an agent in a child process of its own. */
class ChildModel implements Model {
  private turns = 0;

  constructor(
    private readonly agent: AnyAgent,
    private readonly place: ChildPlace,
  ) {}

  async getResponse({ input }: ModelRequest): Promise<ModelResponse> {
    const { ctx, path, optionsOf, sdk } = this.place;
    this.turns++;
    const { name } = this.agent;
    const child = await ctx.spawnChild({
      name: name.slice(0, nameMax),
      goal: goalOf(input as JsonValue) || name,
      ...(await optionsOf(this.agent)),
      args: toArgs({ path, input: input as JsonValue }),
    });
    const { text, usage, turns } = (await ctx.value(child)) as AgentRunResult;
    const { inputTokens, outputTokens, totalTokens } = usage;
    return {
      usage: new sdk.Usage({ requests: turns, inputTokens, outputTokens, totalTokens }),
      output: [{ type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] }],
    };
  }

  async *getStreamedResponse(request: ModelRequest): AsyncGenerator<StreamEvent> {
    yield* toStreamEvents(await this.getResponse(request), `child_${this.turns}`);
  }
}

const nameMax = 100;
const goalMax = 1_000;

/** The last text of a user in the conversation, for people who read the process table. */
function goalOf(input: JsonValue): string {
  const items = Array.isArray(input) ? input : [{ role: 'user', content: input }];
  const texts = items.filter((item): item is UserItem => (item as Partial<UserItem> | null)?.role === 'user');
  const content = texts.at(-1)?.content ?? '';
  const text = typeof content === 'string' ? content : content.map((part) => part.text ?? '').join(' ');
  return text.slice(0, goalMax).toWellFormed();
}

interface UserItem {
  readonly role: 'user';
  readonly content: string | readonly { readonly text?: string }[];
}
