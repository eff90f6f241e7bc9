import { z } from 'zod';
import { errorText, type InputError, invalidInput, KernelError } from '../base/errors.js';
import { problemAt } from '../base/input-issue.js';
import { jsonSchemaOf } from '../base/schema/json-schema-of.js';
import { isStandardSchema, toStandardSchema } from '../base/schema/schema.js';
import type { Schema, StandardSchema } from '../base/schema/schema-types.js';
import { timeLimitMs } from '../base/spec.js';
import type { ToolInfo } from '../kernel/face/process-tools.js';
import type { Tool } from './tool.js';

const functionOf = <T>() => z.custom<T>((value) => typeof value === 'function', 'is not a function');
const definition = z
  .strictObject({
    name: z
      .string()
      .regex(/^[A-Za-z0-9_][A-Za-z0-9._/-]{0,127}$/, 'is not a name: letters, digits, dots, dashes, slashes')
      .refine((name) => !name.split('/').some((part) => /^\.{0,2}$/.test(part)), 'has an empty, "." or ".." part'),
    description: z.string().min(1).max(16_384),
    input: z.custom<Schema>(
      (value) => typeof value === 'function' || (typeof value === 'object' && value !== null),
      'is not a schema',
    ),
    output: z.custom<Schema>().optional(),
    effect: z.enum(['pure', 'idempotent', 'once']),
    effectOf: functionOf<NonNullable<Tool['effectOf']>>().optional(),
    paths: z.array(z.string().min(1)).max(64).optional(),
    resources: functionOf<NonNullable<Tool['resources']>>().optional(),
    shown: functionOf<NonNullable<Tool['shown']>>().optional(),
    cost: functionOf<NonNullable<Tool['cost']>>().optional(),
    needsApproval: z.literal(true).or(functionOf<Extract<Tool['needsApproval'], object>>()).optional(),
    expiresInMs: timeLimitMs.optional(),
    timeoutMs: timeLimitMs.optional(),
    concurrency: z.number().int().positive().optional(),
    run: functionOf<Tool['run']>().optional(),
    external: z.literal(true).optional(),
  })
  .refine(({ run, external }) => (run === undefined) === (external === true), {
    path: ['run'],
    error: 'is not a function',
  })
  .refine(({ needsApproval, expiresInMs }) => expiresInMs === undefined || needsApproval !== undefined, {
    path: ['expiresInMs'],
    error: 'goes only with needsApproval',
  });

/** A tool whose every part has been validated. Later changes to the object that it was made from have no effect on it. */
export type ParsedTool = Omit<z.output<typeof definition>, 'input' | 'output'> & {
  readonly input: StandardSchema;
  readonly output?: StandardSchema;
  /** The public description. Made on first use: most kernels list few of their tools. */
  readonly info: () => ToolInfo;
};

/** Validates a caller's object, which may be anything and may throw when it is read. Throws INVALID_INPUT with the path. */
export function parseTool(tool: unknown): ParsedTool {
  try {
    return toParsedTool(parseDefinition(tool));
  } catch (error) {
    if (error instanceof KernelError) throw error;
    throw invalidTool('tool', `could not be read: ${errorText(error)}`);
  }
}

function parseDefinition(tool: unknown): z.output<typeof definition> {
  const parsed = definition.safeParse(tool);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw invalidTool(['tool', ...(issue?.path ?? [])].join('.'), problemAt(tool, issue, 'not a tool'));
}

function toParsedTool({ input, output, ...rest }: z.output<typeof definition>): ParsedTool {
  let info: ToolInfo | undefined;
  return {
    ...rest,
    info: () => {
      info ??= toInfo(rest, input, output);
      return info;
    },
    input: toStandardSchema(isEmpty(input) ? { type: 'object' } : input, 'tool.input'),
    ...(output === undefined ? {} : { output: toStandardSchema(output, 'tool.output') }),
  };
}

function toInfo(
  {
    name,
    description,
    effect,
    external,
  }: Pick<z.output<typeof definition>, 'name' | 'description' | 'effect' | 'external'>,
  input: Schema,
  output: Schema | undefined,
): ToolInfo {
  const result = output === undefined ? {} : { output: jsonSchemaOf(output) };
  const kind = external === undefined ? {} : { external };
  return { name, description, input: jsonSchemaOf(input), effect, ...result, ...kind };
}

/** `{}`, which many tools without arguments give as their schema. */
function isEmpty(schema: object): boolean {
  return !isStandardSchema(schema) && Object.keys(schema).length === 0;
}

function invalidTool(path: string, problem: string): InputError {
  return invalidInput(path, problem, 'Make tools with defineTool or externalTool.');
}
