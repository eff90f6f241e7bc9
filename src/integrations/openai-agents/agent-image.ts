import { defineImage, type Image, type JsonValue, type Syscalls } from '../../index.js';
import { parseInput } from '../shared/parse-input.js';
import type { AgentRunResult } from './agent-result.js';
import { runAgent } from './agent-run.js';
import { type AgentImageSpec, agentSettings } from './agent-settings.js';
import { page } from './tool-arguments.js';

/**
 * An image whose body runs an agent of the OpenAI Agents SDK. Its model turns are durable, its tools are those of
 * `governTools`, and agents that it hands off to or has as tools run as children: after a crash, neither a completed turn nor a
 * completed call is repeated. Throws INVALID_INPUT.
 *
 * @example
 * const lead = new Agent({ name: 'lead', tools: [search, writer.asTool({ toolName: 'write' })] });
 * kernel.images.register(agentImage({ agent: lead }));
 */
export function agentImage(spec: AgentImageSpec): Image<JsonValue, AgentRunResult> {
  const { name, version, requires, build, recoveriesMax, ...rest } = spec;
  const parsed = parseInput(agentSettings, rest, 'agent', page);
  const parts = { version, requires, build, recoveriesMax };
  return defineImage({
    name: name ?? parsed.agent.name,
    ...Object.fromEntries(Object.entries(parts).filter(([, part]) => part !== undefined)),
    run: (ctx: Syscalls, args: JsonValue) => runAgent(ctx, parsed, args),
  });
}
