import { defineImage, type Image } from '../../index.js';
import { runAgent } from './agent-loop.js';
import { type AgentSpec, parseAgent } from './agent-spec.js';

/**
 * An image whose body asks a model, makes the calls of tools that it wants, tells it the results, and so on until it wants none.
 * Each turn is a step: one that is completed is not asked again after a crash, and neither is a call of a tool. Throws
 * INVALID_INPUT.
 *
 * @example kernel.images.register(agentImage({ name: 'writer', model: openai('gpt-5'), system: 'You write.', tools: ['fs.read'] }));
 */
export function agentImage(spec: AgentSpec): Image {
  const { agent, image } = parseAgent(spec);
  return defineImage({ ...image, run: (ctx, args) => runAgent(ctx, agent, args) });
}
