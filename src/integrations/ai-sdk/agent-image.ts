import { defineImage, type Image } from '../../index.js';
import { runAgent } from './agent-loop.js';
import { type AgentSpec, parseAgent } from './agent-spec.js';

/**
 * An image whose body asks a model, calls the tools that the model requests, gives it the results, and repeats this until it
 * requests no more. Each turn is a step: after a crash, neither a completed turn nor a completed tool call is repeated. Throws
 * INVALID_INPUT.
 *
 * @example kernel.images.register(agentImage({ name: 'writer', model: openai('gpt-5'), system: 'You write.', tools: ['fs.read'] }));
 */
export function agentImage(spec: AgentSpec): Image {
  const { agent, image } = parseAgent(spec);
  return defineImage({ ...image, run: (ctx, args) => runAgent(ctx, agent, args) });
}
