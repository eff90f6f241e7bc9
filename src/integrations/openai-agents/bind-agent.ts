import type { Model, Tool } from '@openai/agents-core';
import { InputError, type Syscalls } from '../../index.js';
import type { AgentStep } from './agent-path.js';
import type { AgentSettings } from './agent-settings.js';
import type { AgentsPackage } from './agents-package.js';
import { toChildAgent } from './child-agent.js';
import { childOptions } from './child-options.js';
import { durableModel } from './durable-model.js';
import { type AgentsTool, governedCopy, governedNames, isAgentTool, isGovernedCopy } from './govern-tools.js';
import { type AnyAgent, replaceNestedRun } from './nested-runs.js';
import { toolsFor } from './tools-for.js';

/** The place of an agent in an image. */
export interface AgentPlace {
  readonly sdk: AgentsPackage;
  readonly ctx: Syscalls;
  readonly settings: AgentSettings;
  /** The way from the agent of the image to this one. */
  readonly path: readonly AgentStep[];
}

/**
 * A copy of the agent for one run of a body: its model is durable, its tools go through the kernel, and the agents that it hands
 * off to or has as tools run as children. Throws INVALID_INPUT for a tool that the kernel does not govern.
 */
export async function bindAgent(agent: AnyAgent, place: AgentPlace): Promise<AnyAgent> {
  if (agent.mcpServers.length > 0) {
    throw ungoverned(
      agent,
      'MCP servers',
      'Connect them with kernel.tools.connectMcp, and name their tools in `tools`.',
    );
  }
  return agent.clone({
    model: modelOf(agent, place),
    tools: await boundTools(agent, place),
    handoffs: agent.handoffs.map((entry) => {
      const handoff = place.sdk.getHandoff(entry);
      return handoff.clone({ agent: childOf(place, handoff.agent, { handoff: handoff.toolName }) });
    }),
  });
}

function modelOf(agent: AnyAgent, { sdk, ctx, settings }: AgentPlace): Model {
  const { model, modelProvider, cost, retry, record } = settings;
  const chosen = agent.model || model || sdk.getDefaultModel();
  return durableModel(ctx, chosen, {
    retry,
    record,
    ...(cost === undefined ? {} : { cost }),
    ...(modelProvider === undefined ? {} : { modelProvider }),
  });
}

async function boundTools(agent: AnyAgent, place: AgentPlace): Promise<Tool[]> {
  const { ctx, settings } = place;
  const visible = new Set((await ctx.tools.list()).map(({ name }) => name));
  const own = agent.tools.map((tool) => boundTool(agent, tool, visible, place));
  const kernelTools = settings.tools === undefined ? [] : await toolsFor(ctx, settings.tools);
  return [...own, ...kernelTools];
}

function boundTool(agent: AnyAgent, tool: Tool, visible: ReadonlySet<string>, place: AgentPlace): Tool {
  // The provider runs it while it answers: it is a part of the turn.
  if (tool.type === 'hosted_tool') return tool;
  if (tool.type !== 'function')
    throw ungoverned(agent, `tool ${tool.name}`, 'Use tools of the kernel, such as command.run.');
  if (isGovernedCopy(tool)) return tool;
  if (isAgentTool(tool)) {
    const invoke: typeof tool.invoke = (runContext, input, details) => {
      const replace = (nested: AnyAgent) => childOf(place, nested, { tool: tool.name, input });
      return replaceNestedRun(place.sdk, replace, () => tool.invoke(runContext, input, details));
    };
    return { ...tool, invoke };
  }
  const name = [...governedNames(tool)].find((registered) => visible.has(registered));
  if (name === undefined) {
    throw ungoverned(
      agent,
      `tool ${tool.name}`,
      'Register it with governTools(kernel, [tool], { prefix }), before the kernel runs processes: node: { start: false }.',
    );
  }
  return governedCopy(place.ctx, name, tool as object as AgentsTool & Tool);
}

function childOf({ sdk, ctx, settings, path }: AgentPlace, agent: AnyAgent, step: AgentStep): AnyAgent {
  return toChildAgent(agent, {
    sdk,
    ctx,
    path: [...path, step],
    optionsOf: (child) => childOptions(ctx, settings, child),
  });
}

function ungoverned({ name }: AnyAgent, subject: string, hint: string): InputError {
  return new InputError('INVALID_INPUT', `agent: ${name} has a ${subject} that the kernel does not govern.`, {
    facts: { path: 'agent', problem: `has a ${subject} that the kernel does not govern`, agent: name },
    hint,
  });
}
