import { z } from 'zod';
import { errorText } from '../base/error-text.js';
import { type InputError, invalidInput, KernelError } from '../base/errors.js';
import { timeLimitMs } from '../base/spec.js';
import type { ToolInfo } from '../kernel/face/process-tools.js';
import { type Schema, toStandardSchema } from '../runtime/image/schema.js';
import { isStandardSchema, type StandardSchema } from '../runtime/image/standard-schema.js';
import { jsonSchemaOf } from './json-schema-of.js';
import type { Tool } from './tool.js';

const functionOf = <T>() => z.custom<T>((value) => typeof value === 'function', 'is not a function');
const effect = z.enum(['pure', 'idempotent', 'once']);
const definition = z.strictObject({
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
  effect,
  effectOf: functionOf<NonNullable<Tool['effectOf']>>().optional(),
  resources: functionOf<NonNullable<Tool['resources']>>().optional(),
  shown: functionOf<NonNullable<Tool['shown']>>().optional(),
  cost: functionOf<NonNullable<Tool['cost']>>().optional(),
  timeoutMs: timeLimitMs.optional(),
  concurrency: z.number().int().positive().optional(),
  run: functionOf<Tool['run']>(),
});

/** A tool whose every part has been looked at. Later changes of what it was made from are not seen. */
export type ParsedTool = Omit<z.output<typeof definition>, 'input' | 'output'> & {
  readonly input: StandardSchema;
  readonly output?: StandardSchema;
  /** As others see it. Made when it is first asked for: most kernels show few of their tools to anybody. */
  readonly info: () => ToolInfo;
};

/** A tool is a caller's object: it may be anything, and may refuse to be read. Throws INVALID_INPUT with the path. */
export function parseTool(tool: unknown): ParsedTool {
  try {
    return parseParts(parseShape(tool));
  } catch (error) {
    if (error instanceof KernelError) throw error;
    throw refused('tool', `could not be read: ${errorText(error)}`);
  }
}

function parseShape(tool: unknown): z.output<typeof definition> {
  const parsed = definition.safeParse(tool);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  throw refused(['tool', ...(issue?.path ?? [])].join('.'), issue?.message ?? 'not a tool');
}

function parseParts({ input, output, ...shape }: z.output<typeof definition>): ParsedTool {
  const { name, description, effect: worst } = shape;
  let info: ToolInfo | undefined;
  const told = () => ({
    name,
    description,
    input: jsonSchemaOf(input),
    effect: worst,
    ...(output === undefined ? {} : { output: jsonSchemaOf(output) }),
  });
  return {
    ...shape,
    info: () => (info ??= told()),
    input: toStandardSchema(isEmpty(input) ? { type: 'object' } : input, 'tool.input'),
    ...(output === undefined ? {} : { output: toStandardSchema(output, 'tool.output') }),
  };
}

/** Many tools have no arguments worth a schema. */
function isEmpty(schema: object): boolean {
  return !isStandardSchema(schema) && Object.keys(schema).length === 0;
}

function refused(path: string, problem: string): InputError {
  return invalidInput(path, problem, 'Make tools with defineTool.');
}
