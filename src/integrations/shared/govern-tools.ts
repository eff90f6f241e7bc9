import { z } from 'zod';
import {
  defineTool,
  type Effect,
  InputError,
  type JsonValue,
  type Kernel,
  type Schema,
  type ToolContext,
} from '../../index.js';
import { parseInput } from './parse-input.js';
import type { SdkContexts } from './sdk-contexts.js';

/** Options of `governTools`. */
export interface GovernOptions {
  /** The kernel knows each tool as `PREFIX.NAME`. With a slash in it, `tool:FOLDER/**` means all of them. */
  readonly prefix: string;
  /** The effect of a repeated call of each tool that `effects` does not name; default `once`. */
  readonly effect?: Effect;
  /** The effect of a repeated call, by the SDK's name of the tool. */
  readonly effects?: Readonly<Record<string, Effect>>;
}

/** A tool of an SDK, in the form that the kernel registers. `Context` is what the SDK gives to a call. */
export interface SdkTool<Context> {
  /** The SDK's name. */
  readonly name: string;
  readonly description: string;
  /** The schema of the arguments, by `toInputSchema`. The SDK parses them again. */
  readonly input: Schema;
  /**
   * The tool's own code. `context` is undefined for a call that does not come from the SDK, such as one of another process
   * of the kernel. The result must be JSON.
   */
  readonly run: (args: JsonValue, call: ToolContext, context: Context | undefined) => unknown;
}

const effect = z.enum(['pure', 'idempotent', 'once']);
const prefixSchema = z
  .string()
  .regex(
    /^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$/,
    'is not the beginning of a name of a tool: letters, digits, dots, dashes',
  );
const governOptions = z.strictObject({
  prefix: prefixSchema,
  effect: effect.default('once'),
  effects: z.record(z.string(), effect).default({}),
});

/** Parses the prefix of governed tools. Throws INVALID_INPUT. */
export function parsePrefix(prefix: unknown, page: string): string {
  return parseInput(prefixSchema, prefix, 'options.prefix', page);
}

/** The kernel's name of a tool of an SDK. */
export function governedName(prefix: string, name: string): string {
  return `${prefix}.${name}`;
}

/**
 * Registers tools of an SDK with the kernel, all or none; disposing of the result removes them. Throws INVALID_INPUT for
 * options or a name that do not fit, CONFLICT for a name that is taken.
 */
export function registerSdkTools<Context>(
  kernel: Pick<Kernel, 'tools'>,
  tools: readonly SdkTool<Context>[],
  options: GovernOptions,
  contexts: SdkContexts<Context>,
  page: string,
): Disposable {
  const { prefix, effect: common, effects } = parseInput(governOptions, options, 'options', page);
  assertNamed(Object.keys(effects), tools);
  const registered: Disposable[] = [];
  const dispose = () => {
    for (const registration of registered.splice(0)) registration[Symbol.dispose]();
  };
  try {
    for (const tool of tools) {
      const name = governedName(prefix, tool.name);
      const toolEffect = effects[tool.name] ?? common;
      registered.push(kernel.tools.register(toKernelTool(name, tool, toolEffect, contexts)));
    }
  } catch (error) {
    dispose();
    throw error;
  }
  return { [Symbol.dispose]: dispose };
}

function toKernelTool<Context>(
  name: string,
  { description, input, run }: SdkTool<Context>,
  toolEffect: Effect,
  contexts: SdkContexts<Context>,
) {
  return defineTool<JsonValue>({
    name,
    // Some SDKs let it be empty.
    description: description === '' ? name : description,
    effect: toolEffect,
    input,
    run: (args: JsonValue, call) => contexts.run(name, (context) => run(args, call, context) as JsonValue),
  });
}

function assertNamed(names: readonly string[], tools: readonly { readonly name: string }[]): void {
  const unknown = names.filter((name) => !tools.some((tool) => tool.name === name));
  if (unknown.length === 0) return;
  throw new InputError('INVALID_INPUT', `options.effects: there is no tool ${unknown.join(', ')}.`, {
    facts: { path: 'options.effects', problem: 'names tools that are not given', unknown },
    hint: `The tools are ${tools.map(({ name }) => name).join(', ')}.`,
  });
}
