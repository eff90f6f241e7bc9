import { defineImage, type Image, type JsonValue, type Syscalls } from '../../index.js';
import { type AgentResult, runAgent } from './agent-loop.js';
import { type AgentSpec, parseAgent } from './agent-spec.js';

/**
 * An image whose body asks a model, calls the tools that the model requests, gives it the results, and repeats this until it
 * requests no more. Each turn is a step: after a crash, neither a completed turn nor a completed tool call is repeated. Throws
 * INVALID_INPUT.
 *
 * @example kernel.images.register(agentImage({ name: 'writer', model: openai('gpt-5'), system: 'You write.', tools: ['fs.read'] }));
 */
export function agentImage(spec: AgentSpec): Image<JsonValue, AgentResult> {
  const { agent, image } = parseAgent(spec);
  const { input, ...parts } = image;
  const run = (ctx: Syscalls, args: JsonValue) => runAgent(ctx, agent, args);
  return input === undefined ? defineImage({ ...parts, run }) : defineImage({ ...parts, input, run });
}
