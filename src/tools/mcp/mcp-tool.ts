import { createHash } from 'node:crypto';
import type { Tool as ListedTool } from '@modelcontextprotocol/client';
import { errorText, invalidInput } from '../../base/errors.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import type { BoundedSchema } from '../../base/schema/schema.js';
import { copyPlain, type PlainLimits } from '../../base/spec.js';
import type { Effect } from '../../kernel/face/process-tools.js';
import { defineTool, type Tool } from '../tool.js';

/** A tool as its server lists it. */
export type { ListedTool };

/** Compiles a schema of the server. Throws an Error for one that cannot be compiled. */
export type CompileSchema = (schema: JsonObject) => Promise<BoundedSchema>;

/** Calls a tool of the server. Throws TOOL_FAILED. */
export type McpCall = (tool: ListedTool, args: JsonValue, signal: AbortSignal) => Promise<JsonValue>;

/** The longest name of a tool; the name of a server has up to 64 characters. */
const nameCharsMax = 128;
const descriptionCharsMax = 8_192;
const schemaLimits: PlainLimits = { bytesMax: 256 * 1024, depthMax: 64 };

/** Makes a tool of the kernel of a listed one. Throws INVALID_INPUT for a schema that cannot be used. */
export async function toTool(
  name: string,
  listed: ListedTool,
  effect: Effect,
  call: McpCall,
  compileSchema: CompileSchema,
): Promise<Tool> {
  const { inputSchema, outputSchema } = listed;
  const input = await compile(inputSchema, 'inputSchema', compileSchema);
  const output = outputSchema === undefined ? undefined : await compile(outputSchema, 'outputSchema', compileSchema);
  return defineTool<JsonValue>({
    name,
    description: descriptionOf(listed),
    input,
    ...(output === undefined ? {} : { output }),
    effect,
    run: (args, { signal }) => call(listed, args, signal),
  });
}

/**
 * The name that a tool of a server is registered under, always the same for the same tool. Characters that a name cannot
 * have become underscores, so that two tools can get the same name; a name that is too long is cut and gets a hash.
 */
export function mcpToolName(server: string, name: string): string {
  const prefix = `mcp/${server}/`;
  const validName = name
    .replaceAll(/[^A-Za-z0-9._/-]/gu, '_')
    .split('/')
    .map((part) => (/^\.{0,2}$/.test(part) ? '_' : part))
    .join('/');
  const charsLeft = nameCharsMax - prefix.length;
  if (validName.length <= charsLeft) return prefix + validName;
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${prefix}${validName.slice(0, charsLeft - hash.length - 1)}-${hash}`;
}

/**
 * The effect class that a server's annotations claim. They are not trusted: the worst result of a false one is that a call
 * of that server's own tool is repeated after a crash.
 */
export function effectOfAnnotations({ annotations }: ListedTool): Effect {
  if (annotations?.readOnlyHint === true) return 'pure';
  return annotations?.idempotentHint === true ? 'idempotent' : 'once';
}

function descriptionOf({ name, title, description, annotations }: ListedTool): string {
  const text =
    [description, title, annotations?.title].find((value) => value !== undefined && value !== '') ?? `Tool ${name}.`;
  return (text.length > descriptionCharsMax ? `${text.slice(0, descriptionCharsMax)}…` : text).toWellFormed();
}

/** Compiles at registration, so that a tool with an unusable schema is never listed. */
async function compile(rawSchema: unknown, path: string, compileSchema: CompileSchema): Promise<BoundedSchema> {
  const schema = copyPlain(rawSchema, path, schemaLimits) as JsonObject;
  return compileSchema(schema).catch((error) => {
    throw invalidInput(
      path,
      `cannot be compiled: ${errorText(error).slice(0, 300)}`,
      'Correct the schema of the tool.',
    );
  });
}
