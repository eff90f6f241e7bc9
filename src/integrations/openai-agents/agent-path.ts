import { z } from 'zod';
import { InputError, type JsonValue } from '../../index.js';
import type { AgentsPackage } from './agents-package.js';
import { isAgentTool } from './govern-tools.js';
import { type AnyAgent, replaceNestedRun } from './nested-runs.js';

/**
 * One step from an agent to another: the name of a handoff, or the name of an agent that is a tool, with the arguments of its
 * call.
 */
export type AgentStep = { readonly handoff: string } | { readonly tool: string; readonly input: string };

/** The arguments of a child process that runs another agent of the same image. */
export interface ChildArgs {
  /** The way from the agent of the image to the one that is run. */
  readonly path: readonly AgentStep[];
  /** The conversation that it gets, as the SDK passes it. */
  readonly input: JsonValue;
}

const argsKey = 'procura.agent';
const childArgs = z.object({
  [argsKey]: z.object({
    path: z.array(z.union([z.object({ handoff: z.string() }), z.object({ tool: z.string(), input: z.string() })])),
    input: z.custom<JsonValue>((value) => value !== undefined),
  }),
});

/** The arguments of a child, as those of a process. */
export function toArgs(child: ChildArgs): JsonValue {
  return { [argsKey]: { path: child.path.map((step) => ({ ...step })), input: child.input } };
}

/** Undefined for a process that was not started for another agent of the image. */
export function parseChildArgs(args: JsonValue): ChildArgs | undefined {
  const parsed = childArgs.safeParse(args);
  return parsed.success ? parsed.data[argsKey] : undefined;
}

/** The agent at the end of the path. Throws INVALID_INPUT for a path that the agents do not have. */
export async function agentAt(sdk: AgentsPackage, root: AnyAgent, path: readonly AgentStep[]): Promise<AnyAgent> {
  let agent = root;
  for (const step of path) {
    const next = 'handoff' in step ? handoffTarget(sdk, agent, step.handoff) : await toolAgent(sdk, agent, step);
    if (next === undefined) throw noSuchAgent(agent, step);
    agent = next;
  }
  return agent;
}

function handoffTarget(sdk: AgentsPackage, { handoffs }: AnyAgent, name: string): AnyAgent | undefined {
  return handoffs.map((entry) => sdk.getHandoff(entry)).find(({ toolName }) => toolName === name)?.agent;
}

/** The agent that the tool runs: the call is made, and stopped where the run would begin. */
async function toolAgent(
  sdk: AgentsPackage,
  { tools }: AnyAgent,
  { tool: name, input }: Extract<AgentStep, { tool: string }>,
): Promise<AnyAgent | undefined> {
  const tool = tools.find((candidate) => candidate.name === name);
  if (tool?.type !== 'function' || !isAgentTool(tool)) return undefined;
  let found: AnyAgent | undefined;
  const stop = (agent: AnyAgent): never => {
    found = agent;
    throw new Error('The agent of the tool is known.');
  };
  await replaceNestedRun(sdk, stop, () => tool.invoke(new sdk.RunContext(), input).catch(() => undefined));
  return found;
}

function noSuchAgent({ name }: AnyAgent, step: AgentStep): InputError {
  const wanted = 'handoff' in step ? `handoff ${step.handoff}` : `agent as a tool ${step.tool}`;
  return new InputError('INVALID_INPUT', `args: the agent ${name} has no ${wanted}.`, {
    facts: { path: 'args', problem: 'names an agent that the image does not have', agent: name },
    hint: 'The process was started by another version of the image. Run it with the one that it was started by.',
  });
}
