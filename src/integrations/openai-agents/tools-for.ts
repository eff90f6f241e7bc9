import type { FunctionTool } from '@openai/agents-core';
import { callAsValue } from '../shared/call-as-value.js';
import type { CallingFace } from '../shared/calling-face.js';
import {
  type OfferedTool,
  offeredTools,
  parseToolsForOptions,
  schemaOf,
  type ToolsForOptions,
} from '../shared/offered-tools.js';
import { callOptions, page, parseArguments } from './tool-arguments.js';

/** A tool in the form of the SDK. Arguments are validated by the kernel. */
export type KernelFunctionTool = FunctionTool<unknown, undefined, string>;

/**
 * The tools of a process as function tools of the OpenAI Agents SDK. Calls go through the kernel as calls of that process; a
 * refusal or a failure is a text that the model reads. Throws INVALID_INPUT for a tool in `only` that the process does not
 * see.
 *
 * @example const agent = new Agent({ name: 'writer', tools: await toolsFor(ctx, { granted: true }) });
 */
export async function toolsFor(face: CallingFace, options: ToolsForOptions = {}): Promise<KernelFunctionTool[]> {
  const offered = await offeredTools(face, parseToolsForOptions(options, page));
  return offered.map((tool) => toFunctionTool(face, tool));
}

function toFunctionTool(face: CallingFace, { alias, info }: OfferedTool): KernelFunctionTool {
  const parameters = schemaOf(info.input) as object as KernelFunctionTool['parameters'];
  return {
    type: 'function',
    name: alias,
    description: info.description,
    parameters,
    strict: false,
    needsApproval: async () => false,
    isEnabled: async () => true,
    invoke: async (_runContext, input, details) => {
      const signal = details?.signal;
      const call = async () => face.tools.call(info.name, parseArguments(info.name, input), callOptions(signal));
      const { value } = await callAsValue(face, call, signal);
      return typeof value === 'string' ? value : JSON.stringify(value);
    },
  };
}
