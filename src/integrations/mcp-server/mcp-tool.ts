import type { Tool, ToolAnnotations } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { InputError } from '../../index.js';

/** A tool of the MCP server: how it is listed, and what it does. */
export interface McpTool {
  readonly tool: Tool;
  /** The answer is JSON after `toJSON` of the handles in it. Throws KernelError. */
  call(args: unknown, signal: AbortSignal): Promise<unknown>;
}

export interface McpToolSpec<Input extends z.ZodType> {
  readonly name: string;
  readonly description: string;
  readonly input: Input;
  readonly hints: ToolAnnotations;
  readonly run: (args: z.output<Input>, signal: AbortSignal) => Promise<unknown>;
}

/** Changes nothing. */
export const readOnly: ToolAnnotations = { readOnlyHint: true, idempotentHint: true, destructiveHint: false };
/** Adds something each time it is called. */
export const additive: ToolAnnotations = { readOnlyHint: false, idempotentHint: false, destructiveHint: false };
/** Has the same effect when it is called again. */
export const idempotent: ToolAnnotations = { readOnlyHint: false, idempotentHint: true, destructiveHint: false };
/** Ends something that cannot be brought back. */
export const destructive: ToolAnnotations = { readOnlyHint: false, idempotentHint: true, destructiveHint: true };

/** Any JSON value. */
export const json = z.custom<JsonInput>((value) => value !== undefined);
type JsonInput = null | boolean | number | string | JsonInput[] | { [property: string]: JsonInput };

/** The time limit of calls that wait. Many clients give up after 60 s: the default answers before that. */
export const waitMs = z
  .number()
  .int()
  .min(0)
  .max(3_600_000)
  .default(50_000)
  .describe('How long to wait, in milliseconds. When it is over the answer says so, and you can call again.');

/** A tool whose arguments are validated before it runs. */
export function mcpTool<Input extends z.ZodType>({
  name,
  description,
  input,
  hints,
  run,
}: McpToolSpec<Input>): McpTool {
  return {
    tool: { name, description, inputSchema: inputSchemaOf(input), annotations: hints },
    call: async (args, signal) => run(parseArguments(name, input, args), signal),
  };
}

function inputSchemaOf(input: z.ZodType): Tool['inputSchema'] {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
  return { ...schema, type: 'object' } as Tool['inputSchema'];
}

function parseArguments<Input extends z.ZodType>(name: string, input: Input, args: unknown): z.output<Input> {
  const result = input.safeParse(args);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = ['arguments', ...(issue?.path ?? [])].map(String).join('.');
  const problem = issue?.message ?? 'not valid';
  throw new InputError('INVALID_INPUT', `${path}: ${problem}.`, {
    facts: { call: name, path, problem },
    hint: `See the input schema of ${name}.`,
  });
}
