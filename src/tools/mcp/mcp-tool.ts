import type { Tool as ListedTool } from '@modelcontextprotocol/client';
import { errorText } from '../../base/error-text.js';
import { invalidInput } from '../../base/errors.js';
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

const descriptionCharsMax = 8_192;
const schemaLimits: PlainLimits = { bytesMax: 256 * 1024, depthMax: 64 };

/** A tool of a server as one of ours. Throws INVALID_INPUT for a schema that cannot be used. */
export async function mcpTool(
  name: string,
  listed: ListedTool,
  effect: Effect,
  call: McpCall,
  compilers: Compilers,
): Promise<Tool> {
  const { inputSchema, outputSchema } = listed;
  const input = await schemaOf(inputSchema, 'inputSchema', compilers);
  const output = outputSchema === undefined ? undefined : await schemaOf(outputSchema, 'outputSchema', compilers);
  return defineTool({
    name,
    description: described(listed),
    input,
    ...(output === undefined ? {} : { output }),
    effect,
    run: (args, { signal }) => call(listed, args, signal),
  });
}

/**
 * What a call may do when it is repeated. The annotations are hints of a server that nobody has to believe: the worst that
 * a false one can bring about is that a call of that server's own tool is repeated after a crash.
 */
export function effectOfAnnotations({ annotations }: ListedTool): Effect {
  if (annotations?.readOnlyHint === true) return 'pure';
  return annotations?.idempotentHint === true ? 'idempotent' : 'once';
}

function described({ name, title, description, annotations }: ListedTool): string {
  const told =
    [description, title, annotations?.title].find((text) => text !== undefined && text !== '') ?? `Tool ${name}.`;
  const text = told.length > descriptionCharsMax ? `${told.slice(0, descriptionCharsMax)}…` : told;
  return text.toWellFormed();
}

/** Compiled at once, so that a tool whose schema cannot be used is not shown to anybody. */
async function schemaOf(given: unknown, path: string, compilers: Compilers): Promise<StandardSchema> {
  const schema = copyPlain(given, path, schemaLimits) as JsonObject;
  const validate = await compileSchema(schema, compilers).catch((error) => {
    throw invalidInput(path, `cannot be compiled: ${errorText(error).slice(0, 300)}`, 'Mend the schema of the tool.');
  });
  const standard = { version: 1, vendor: 'json-schema', validate, jsonSchema: { input: () => schema } } as const;
  return { '~standard': standard };
}
