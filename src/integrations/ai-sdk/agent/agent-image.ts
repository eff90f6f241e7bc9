import {
  defineImage,
  type Image,
  type JsonValue,
  type Schema,
  type SchemaInput,
  type SchemaOutput,
  type Syscalls,
} from '../../../index.js';
import { type AgentResult, runAgent } from './agent-body.js';
import { type AgentSpec, parseAgent } from './agent-spec.js';

/**
 * An image whose body asks a model, calls the tools that the model requests, gives it the results, and repeats this until it
 * requests no more. Each turn is a step: after a crash, neither a completed turn nor a completed tool call is repeated. The
 * result of a process is an `AgentResult`, or an object of the schema `output`. Throws INVALID_INPUT.
 *
 * @example kernel.images.register(agentImage({ name: 'writer', model: openai('gpt-5'), system: 'You write.' }));
 */
export function agentImage<const In extends Schema, const Out extends Schema>(
  spec: Omit<AgentSpec, 'input' | 'output'> & { readonly input: In; readonly output: Out },
): Image<SchemaOutput<In>, SchemaOutput<Out>, SchemaInput<In>>;
export function agentImage<const Out extends Schema>(
  spec: Omit<AgentSpec, 'input' | 'output'> & { readonly input?: never; readonly output: Out },
): Image<JsonValue, SchemaOutput<Out>>;
export function agentImage<const In extends Schema>(
  spec: Omit<AgentSpec, 'input' | 'output'> & { readonly input: In; readonly output?: never },
): Image<SchemaOutput<In>, AgentResult, SchemaInput<In>>;
export function agentImage(spec: AgentSpec): Image<JsonValue, AgentResult>;
export function agentImage(spec: AgentSpec): Image {
  const { agent, image } = parseAgent(spec);
  const run = (ctx: Syscalls, args: JsonValue): Promise<JsonValue> => runAgent(ctx, agent, args);
  // Whichever schemas there are, the body is the same.
  return defineImage({ ...image, run } as Parameters<typeof defineImage>[0]);
}
