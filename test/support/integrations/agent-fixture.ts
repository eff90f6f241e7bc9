import { z } from 'zod';
import {
  type CapabilitySpec,
  defineTool,
  type Kernel,
  type KernelOptions,
  type Pid,
  type SpawnSpec,
  type Tool,
  type ToolContext,
} from '../../../src/index.js';
import { type AgentSpec, agentImage } from '../../../src/integrations/ai-sdk/index.js';
import { openKernel } from '../kernel.js';

/** The capability to call the scripted model. */
export const callModel: CapabilitySpec = { resource: 'model:mock/scripted', rights: ['call'] };
export const callTools: CapabilitySpec = { resource: 'tool:**', rights: ['call'] };
export const add = defineTool({
  name: 'math.add',
  description: 'Adds two numbers.',
  effect: 'pure',
  input: z.strictObject({ a: z.number(), b: z.number() }),
  run: ({ a, b }: { a: number; b: number }) => a + b,
});

/** A tool with an empty input schema. */
export function simpleTool(name: string, run: (args: never, context: ToolContext) => unknown): Tool {
  return defineTool({ name, description: name, effect: 'once', input: {}, run: run as never });
}

/** Spawns an agent that may call the model and all tools, on a new kernel. */
export async function startAgent(
  spec: Omit<AgentSpec, 'name'>,
  tools: Tool[] = [],
  spawnSpec: SpawnSpec = {},
  options: KernelOptions = {},
): Promise<{ kernel: Kernel; pid: Pid }> {
  const kernel = await openKernel({ tools, images: [agentImage({ name: 'agent', ...spec })], ...options });
  const pid = await kernel.processes.spawn({ image: 'agent', capabilities: [callModel, callTools], ...spawnSpec });
  return { kernel, pid };
}
