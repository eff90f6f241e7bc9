import type { JSONSchema7, Schema, ToolSet } from 'ai';
import { z } from 'zod';
import { InputError, type JsonObject, type JsonValue, type ProcessFace, type ToolInfo } from '../../index.js';
import { toolNames } from '../tool-names.js';
import { type AiPackage, loadAiPackage } from './ai-package.js';
import { parseInput } from './parse-input.js';
import { toolErrorValue } from './tool-error-value.js';

/** Options of `toolsFor`. */
export interface ToolsForOptions {
  /** Only these tools, by the kernel's names. */
  readonly only?: readonly string[];
  /** Leaves out tools that the process may not call with any arguments. Default false: all that its image shows. */
  readonly granted?: boolean;
}

const toolsForOptions = z.strictObject({ only: z.array(z.string()).optional(), granted: z.boolean().default(false) });

/**
 * The tools of a process for `generateText` and `streamText`. Calls go through the kernel as calls of that process; a refusal
 * or a failure is a value that the model can read. Throws INVALID_INPUT for a tool in `only` that the process does not see,
 * MISSING_PACKAGE.
 *
 * @example await generateText({ model, prompt, tools: await toolsFor(ctx), stopWhen: stepCountIs(5) });
 */
export async function toolsFor(ctx: Omit<ProcessFace, 'signal'>, options: ToolsForOptions = {}): Promise<ToolSet> {
  const { only, granted: onlyGranted } = parseInput(toolsForOptions, options, 'options');
  const sdk = await loadAiPackage();
  const visible = await ctx.tools.list();
  const chosen = await filterGranted(ctx, selectTools(visible, only), onlyGranted);
  const infos = new Map(chosen.map((info) => [info.name, info]));
  // Aliases are made from all visible tools, so that the choice of tools does not change them.
  const tools = [...toolNames(visible)].flatMap(([alias, name]) => {
    const info = infos.get(name);
    return info === undefined ? [] : [[alias, toCallableTool(sdk, ctx, info)] as const];
  });
  return Object.fromEntries(tools);
}

/** Tools by their aliases, without `execute`: the model is told of them, and the caller runs the calls. */
export function toolDeclarations(sdk: AiPackage, infos: readonly ToolInfo[]): ToolSet {
  const byName = new Map(infos.map((info) => [info.name, info]));
  const tools = [...toolNames(infos)].map(
    ([alias, name]) => [alias, declarationOf(sdk, byName.get(name) as ToolInfo)] as const,
  );
  return Object.fromEntries(tools);
}

function toCallableTool(sdk: AiPackage, ctx: Omit<ProcessFace, 'signal'>, info: ToolInfo): ToolSet[string] {
  return sdk.tool({
    ...declarationOf(sdk, info),
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

function declarationOf(
  sdk: AiPackage,
  { description, input }: ToolInfo,
): { description: string; inputSchema: Schema<never> } {
  return { description, inputSchema: sdk.jsonSchema<never>(schemaOf(input)) };
}

/** Providers want an object schema, also for a tool without arguments. */
function schemaOf(input: JsonObject): JSONSchema7 {
  const isEmpty = Object.keys(input).length === 0;
  return isEmpty ? { type: 'object', properties: {} } : (input as object as JSONSchema7);
}

function selectTools(visible: readonly ToolInfo[], only: readonly string[] | undefined): readonly ToolInfo[] {
  if (only === undefined) return visible;
  const missing = only.filter((name) => !visible.some((info) => info.name === name));
  if (missing.length === 0) return visible.filter(({ name }) => only.includes(name));
  throw new InputError('INVALID_INPUT', `options.only: the process sees no tool ${missing.join(', ')}.`, {
    facts: { path: 'options.only', problem: 'the process does not see these tools', unseen: missing },
    hint: 'Name tools that ctx.tools.list() shows, as it names them.',
  });
}

/** Codes of denials that do not depend on the arguments. */
const denialsWithAnyArguments: ReadonlySet<string> = new Set([
  'NO_CAPABILITY',
  'DENY_RULE',
  'REVOKED',
  'EXPIRED',
  'SPENT',
]);

async function filterGranted(
  ctx: Omit<ProcessFace, 'signal'>,
  tools: readonly ToolInfo[],
  onlyGranted: boolean,
): Promise<readonly ToolInfo[]> {
  if (!onlyGranted) return tools;
  const decisions = await Promise.all(tools.map(({ name }) => ctx.capabilities.check('call', `tool:${name}`)));
  return tools.filter((_, index) => !denialsWithAnyArguments.has(decisions[index]?.code ?? ''));
}
