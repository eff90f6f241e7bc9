import { type JSONSchema7, jsonSchema, type Schema, type ToolSet, tool } from 'ai';
import { z } from 'zod';
import { InputError, type JsonObject, type JsonValue, type ProcessFace, type ToolInfo } from '../../index.js';
import { toolNames } from '../tool-names.js';
import { parsed } from './parsed.js';
import { toolErrorValue } from './tool-error-value.js';

export interface ToolsForOptions {
  /** Only these, by the names that the kernel has for them. */
  readonly only?: readonly string[];
  /** Leaves out what the process could not call whatever the arguments are. Default: all that its image shows. */
  readonly granted?: boolean;
}

const toolsForOptions = z.strictObject({ only: z.array(z.string()).optional(), granted: z.boolean().default(false) });

/**
 * The tools of a process for `generateText` and `streamText`. Calls go through the kernel as calls of that process; a refusal
 * or a failure is a value that the model can read. Throws INVALID_INPUT for a tool in `only` that the process does not see.
 *
 * @example await generateText({ model, prompt, tools: await toolsFor(ctx), stopWhen: stepCountIs(5) });
 */
export async function toolsFor(ctx: ProcessFace, options: ToolsForOptions = {}): Promise<ToolSet> {
  const { only, granted: isAsked } = parsed(toolsForOptions, options, 'options');
  const visible = await ctx.tools.list();
  const chosen = await granted(ctx, named(visible, only), isAsked);
  const infos = new Map(chosen.map((info) => [info.name, info]));
  // The names are those that all visible tools have: which are chosen changes none of them.
  const tools = [...toolNames(visible)].flatMap(([alias, name]) => {
    const info = infos.get(name);
    return info === undefined ? [] : [[alias, callable(ctx, info)] as const];
  });
  return Object.fromEntries(tools);
}

/** Tools that a model is told of and somebody else calls, by the names that it calls them. */
export function shownTools(infos: readonly ToolInfo[]): ToolSet {
  const byName = new Map(infos.map((info) => [info.name, info]));
  const tools = [...toolNames(infos)].map(([alias, name]) => [alias, told(byName.get(name) as ToolInfo)] as const);
  return Object.fromEntries(tools);
}

function callable(ctx: ProcessFace, info: ToolInfo): ToolSet[string] {
  return tool({
    ...told(info),
    execute: async (args: JsonValue, { abortSignal }) => {
      try {
        const options = abortSignal === undefined ? {} : { signal: abortSignal };
        return await ctx.tools.call(info.name, args, options);
      } catch (error) {
        if (abortSignal?.aborted === true) throw error;
        return toolErrorValue(ctx, error);
      }
    },
  });
}

function told({ description, input }: ToolInfo): { description: string; inputSchema: Schema<never> } {
  return { description, inputSchema: jsonSchema<never>(schemaOf(input)) };
}

/** Providers want to be told that arguments are an object, also where there are none. */
function schemaOf(input: JsonObject): JSONSchema7 {
  const isUntold = Object.keys(input).length === 0;
  return isUntold ? { type: 'object', properties: {} } : (input as object as JSONSchema7);
}

function named(visible: readonly ToolInfo[], only: readonly string[] | undefined): readonly ToolInfo[] {
  if (only === undefined) return visible;
  const unseen = only.filter((name) => !visible.some((info) => info.name === name));
  if (unseen.length === 0) return visible.filter(({ name }) => only.includes(name));
  throw new InputError('INVALID_INPUT', `options.only: the process sees no tool ${unseen.join(', ')}.`, {
    facts: { path: 'options.only', unseen },
    hint: 'Name tools that ctx.tools.list() shows, as it names them.',
  });
}

/** Codes of decisions that no arguments would change. */
const hopeless: ReadonlySet<string> = new Set(['NO_CAPABILITY', 'DENY_RULE', 'REVOKED', 'EXPIRED', 'SPENT']);

async function granted(ctx: ProcessFace, tools: readonly ToolInfo[], isAsked: boolean): Promise<readonly ToolInfo[]> {
  if (!isAsked) return tools;
  const decisions = await Promise.all(tools.map(({ name }) => ctx.capabilities.check('call', `tool:${name}`)));
  return tools.filter((_, index) => !hopeless.has(decisions[index]?.code ?? ''));
}
