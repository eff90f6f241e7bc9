import type { ToolModelMessage, ToolResultPart } from 'ai';
import type { JsonValue, Syscalls } from '../../index.js';
import { toolErrorValue } from './tool-error-value.js';
import type { WantedCall } from './turn.js';

/** What of a result a model is told. The whole is an object of the process. */
const resultCharactersMax = 65_536;

/** Makes the calls of a turn, all at once, and tells their results in the order of the calls. */
export async function runToolCalls(ctx: Syscalls, calls: readonly WantedCall[]): Promise<ToolModelMessage> {
  return { role: 'tool', content: await Promise.all(calls.map((call) => made(ctx, call))) };
}

/** The kernel keeps the answer under the name of the tool and its number: the id is the model's own business. */
async function made(ctx: Syscalls, { id, alias, tool, input }: WantedCall): Promise<ToolResultPart> {
  return { type: 'tool-result', toolCallId: id, toolName: alias, output: await output(ctx, tool, input) };
}

async function output(ctx: Syscalls, tool: string, input: JsonValue): Promise<ToolResultPart['output']> {
  try {
    return { type: 'json', value: told(await ctx.tools.call(tool, input)) };
  } catch (error) {
    return { type: 'error-json', value: toolErrorValue(ctx, error) };
  }
}

type Told = Extract<ToolResultPart['output'], { type: 'json' }>['value'];

function told(result: JsonValue): Told {
  const text = JSON.stringify(result);
  if (text.length <= resultCharactersMax) return result as Told;
  return { cut: true, characters: text.length, text: text.slice(0, resultCharactersMax).toWellFormed() };
}
