import { createHash } from 'node:crypto';
import type { Tool as ListedTool } from '@modelcontextprotocol/client';
import { errorText, invalidInput } from '../../base/errors.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import { copyPlain, type PlainLimits } from '../../base/plain.js';
import type { Effect } from '../../kernel/face/process-tools.js';
import { type Compilers, compileSchema } from '../../runtime/image/json-schema.js';
import type { StandardSchema } from '../../runtime/image/standard-schema.js';
import { defineTool, type Tool } from '../tool.js';

/** A tool as its server tells it. */
export type { ListedTool };

/** Carries a call out on the server. Throws TOOL_FAILED. */
export type McpCall = (tool: ListedTool, args: JsonValue, signal: AbortSignal) => Promise<JsonValue>;

/** The longest name of a tool; the name of a server has up to 64 characters. */
const nameCharsMax = 128;
const descriptionCharsMax = 8_192;
const schemaLimits: PlainLimits = { bytesMax: 256 * 1024, depthMax: 64 };

/** A tool of a server as one of ours. Throws INVALID_INPUT for a schema that cannot be used. */
export async function toTool(
  name: string,
  listed: ListedTool,
  effect: Effect,
  call: McpCall,
  compilers: Compilers,
): Promise<Tool> {
  const { inputSchema, outputSchema } = listed;
  const input = await compile(inputSchema, 'inputSchema', compilers);
  const output = outputSchema === undefined ? undefined : await compile(outputSchema, 'outputSchema', compilers);
  return defineTool({
    name,
    description: descriptionOf(listed),
    input,
    ...(output === undefined ? {} : { output }),
    effect,
    run: (args, { signal }) => call(listed, args, signal),
  });
}

/**
 * The name that a tool of a server has here. What a name cannot have becomes an underscore, and what is too long is cut and
 * told apart by a hash: the same name gives the same one, always. Two that give the same one are told apart by nothing.
 */
export function mcpToolName(server: string, name: string): string {
  const prefix = `mcp/${server}/`;
  const shown = name
    .replaceAll(/[^A-Za-z0-9._/-]/gu, '_')
    .split('/')
    .map((part) => (/^\.{0,2}$/.test(part) ? '_' : part))
    .join('/');
  const left = nameCharsMax - prefix.length;
  if (shown.length <= left) return prefix + shown;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${prefix}${shown.slice(0, left - hash.length - 1)}-${hash}`;
}

/**
 * What a call may do when it is repeated. The annotations are hints of a server that nobody has to believe: the worst that
 * a false one can bring about is that a call of that server's own tool is repeated after a crash.
 */
export function effectOfAnnotations({ annotations }: ListedTool): Effect {
  if (annotations?.readOnlyHint === true) return 'pure';
  return annotations?.idempotentHint === true ? 'idempotent' : 'once';
}

function descriptionOf({ name, title, description, annotations }: ListedTool): string {
  const told =
    [description, title, annotations?.title].find((text) => text !== undefined && text !== '') ?? `Tool ${name}.`;
  const text = told.length > descriptionCharsMax ? `${told.slice(0, descriptionCharsMax)}…` : told;
  return text.toWellFormed();
}

/** Compiled at once, so that a tool whose schema cannot be used is not shown to anybody. */
async function compile(given: unknown, path: string, compilers: Compilers): Promise<StandardSchema> {
  const schema = copyPlain(given, path, schemaLimits) as JsonObject;
  const validate = await compileSchema(schema, compilers).catch((error) => {
    throw invalidInput(path, `cannot be compiled: ${errorText(error).slice(0, 300)}`, 'Mend the schema of the tool.');
  });
  const standard = { version: 1, vendor: 'json-schema', validate, jsonSchema: { input: () => schema } } as const;
  return { '~standard': standard };
}
