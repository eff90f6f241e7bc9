import type { Tool, ToolAnnotations } from '@modelcontextprotocol/server';
import type { Effect, JsonObject, JsonValue, ProcessFace, ToolInfo } from '../../index.js';
import { isCallable, toolNames } from '../tool-names.js';
import type { McpTool } from './mcp-tool.js';

/** The tools of the kernel that clients are offered as calls of the face, each with the name of that call. */
export const offeredAsCalls: Readonly<Record<string, string>> = {
  'process.spawn': 'spawn',
  'process.wait': 'wait',
  'process.list': 'list_children',
  'process.signal': 'signal',
  'message.send': 'send',
  'message.receive': 'receive',
  'memory.read': 'memory_read',
  'memory.write': 'memory_write',
  'memory.search': 'memory_search',
  'capability.request': 'request_capability',
};

/** The other tools that the process sees, as they are at this moment. Throws PROCESS_TERMINATED. */
export async function kernelTools({ tools }: ProcessFace): Promise<McpTool[]> {
  const callable = (await tools.list()).filter(isCallable);
  const seen = new Map(
    callable.filter(({ name }) => !Object.hasOwn(offeredAsCalls, name)).map((info) => [info.name, info]),
  );
  return [...toolNames([...seen.values()], 'tool_')].flatMap(([offered, name]) => {
    const info = seen.get(name);
    return info === undefined ? [] : [toMcpTool(tools, offered, info)];
  });
}

const hints: Record<Effect, ToolAnnotations> = {
  pure: { readOnlyHint: true, idempotentHint: true, destructiveHint: false },
  idempotent: { readOnlyHint: false, idempotentHint: true, destructiveHint: true },
  once: { readOnlyHint: false, idempotentHint: false, destructiveHint: true },
};

function toMcpTool(
  tools: ProcessFace['tools'],
  offered: string,
  { name, description, input, effect }: ToolInfo,
): McpTool {
  const isWrapped = typeof input.type === 'string' && input.type !== 'object';
  return {
    tool: {
      name: offered,
      title: name,
      description: `${description}\n(The tool ${name}: needs call on tool:${name}.)`,
      inputSchema: isWrapped ? wrapSchema(input) : objectSchema(input),
      annotations: hints[effect],
    },
    call: async (args, signal) => {
      const given = isWrapped ? (args as { input?: JsonValue }).input : (args as JsonValue);
      return tools.call(name, given ?? null, { signal });
    },
  };
}

/** Arguments are an object in this protocol, also where a schema leaves it open. */
function objectSchema(input: JsonObject): Tool['inputSchema'] {
  return { ...input, type: 'object' } as Tool['inputSchema'];
}

/** A tool that takes no object gets its argument as the property `input` of one. */
function wrapSchema(input: JsonObject): Tool['inputSchema'] {
  const { $schema: _dialect, ...schema } = input;
  return {
    type: 'object',
    properties: { input: schema },
    required: ['input'],
    additionalProperties: false,
  } as Tool['inputSchema'];
}
