import type { JSONSchema7, Schema, ToolSet } from 'ai';
import type { JsonValue, ProcessFace, ToolInfo } from '../../index.js';
import { offeredTools, parseToolsForOptions, type ToolsForOptions } from '../shared/offered-tools.js';
import { toPlainSchema } from '../shared/plain-schema.js';
import { toolErrorValue } from '../shared/tool-error-value.js';
import { type AiPackage, loadAiPackage } from './ai-package.js';
import { docsPage } from './docs-page.js';

export type { ToolsForOptions } from '../shared/offered-tools.js';

/**
 * The tools of a process for `generateText` and `streamText`. Calls go through the kernel as calls of that process; a refusal
 * or a failure is a value that the model can read. Throws INVALID_INPUT for a tool in `only` that the process does not see,
 * MISSING_PACKAGE.
 *
 * @example await generateText({ model, prompt, tools: await toolsFor(ctx), stopWhen: stepCountIs(5) });
 */
export async function toolsFor(ctx: Omit<ProcessFace, 'signal'>, options: ToolsForOptions = {}): Promise<ToolSet> {
  const chosen = parseToolsForOptions(options, docsPage);
  const sdk = await loadAiPackage();
  const tools = (await offeredTools(ctx, chosen)).map(
    ({ alias, info }) => [alias, toCallableTool(sdk, ctx, info)] as const,
  );
  return Object.fromEntries(tools);
}

/** Tools by their aliases, without `execute`: the model is told of them, and the caller runs the calls. */
export function toolDeclarations(
  sdk: AiPackage,
  infos: readonly ToolInfo[],
  aliases: Readonly<Record<string, string>>,
): ToolSet {
  const byName = new Map(infos.map((info) => [info.name, info]));
  const tools = Object.entries(aliases).flatMap(([alias, name]) => {
    const info = byName.get(name);
    return info === undefined ? [] : [[alias, declarationOf(sdk, info)] as const];
  });
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
  return { description, inputSchema: sdk.jsonSchema<never>(toPlainSchema(input) as object as JSONSchema7) };
}
