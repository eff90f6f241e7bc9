import type { Tool, ToolAnnotations } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { InputError } from '../../index.js';

/** Something that a client can call: how it is shown, and what it does. */
export interface McpTool {
  readonly tool: Tool;
  /** Its answer is JSON once handles are written out. Throws KernelError. */
  call(args: unknown, signal: AbortSignal): Promise<unknown>;
}

export interface McpToolSpec<Input extends z.ZodType> {
  readonly name: string;
  readonly description: string;
  readonly input: Input;
  readonly hints: ToolAnnotations;
  readonly run: (args: z.output<Input>, signal: AbortSignal) => Promise<unknown>;
}

/** Whoever only looks changes nothing, however often. */
export const readOnly: ToolAnnotations = { readOnlyHint: true, idempotentHint: true, destructiveHint: false };
/** Adds something; done twice it is there twice. */
export const additive: ToolAnnotations = { readOnlyHint: false, idempotentHint: false, destructiveHint: false };
/** What was asked for once stays as it is when it is asked for again. */
export const idempotent: ToolAnnotations = { readOnlyHint: false, idempotentHint: true, destructiveHint: false };
/** Ends something for good. */
export const destructive: ToolAnnotations = { readOnlyHint: false, idempotentHint: true, destructiveHint: true };

/** JSON of any form. */
export const json = z.custom<JsonInput>((value) => value !== undefined);
type JsonInput = null | boolean | number | string | JsonInput[] | { [property: string]: JsonInput };

/** How long clients are patient with a call is often 60 s: an answer that comes before that is not lost. */
export const waitMs = z
  .number()
  .int()
  .min(0)
  .max(3_600_000)
  .default(50_000)
  .describe('How long to wait, in milliseconds. When it is over the answer says so, and you can call again.');

/** One of the calls of the face, with arguments that are looked at before anything is done. */
export function mcpTool<Input extends z.ZodType>({
  name,
  description,
  input,
  hints,
  run,
}: McpToolSpec<Input>): McpTool {
  return {
    tool: { name, description, inputSchema: shown(input), annotations: hints },
    call: async (args, signal) => run(parsed(name, input, args), signal),
  };
}

function shown(input: z.ZodType): Tool['inputSchema'] {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
  return { ...schema, type: 'object' } as Tool['inputSchema'];
}

function parsed<Input extends z.ZodType>(name: string, input: Input, args: unknown): z.output<Input> {
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
