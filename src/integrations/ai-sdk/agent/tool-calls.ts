import type { ToolModelMessage, ToolResultPart } from 'ai';
import type { EditedCall, JsonValue, Syscalls } from '../../../index.js';
import { toolErrorValue } from '../../shared/tool-error-value.js';
import { resultPart } from '../../shared/turn-parts.js';
import { toToldResult } from '../model/tool-result-part.js';
import type { RequestedCall } from './assistant-message.js';

/** The longest result that a model is given whole. The complete result is an object of the process. */
const resultCharactersMax = 65_536;

/** A call with the kernel's name of its tool. */
export interface NamedCall extends RequestedCall {
  readonly tool: string;
}

/** Runs the calls of a turn concurrently; the results are in the order of the calls. Readers of the turn are told of them. */
export async function runToolCalls(ctx: Syscalls, calls: readonly NamedCall[]): Promise<ToolModelMessage> {
  const content = await Promise.all(calls.map((call) => runToolCall(ctx, call, calls.length)));
  const parts = content.map((result, index) => resultPart(toToldResult(result), calls[index]?.tool, calls.length));
  await ctx.turns.commit(parts);
  return { role: 'tool', content };
}

/** One of `count` calls. The journal identifies it by the tool's name and its number; `id` is only for the model. */
async function runToolCall(
  ctx: Syscalls,
  { id, alias, tool, input }: NamedCall,
  count: number,
): Promise<ToolResultPart> {
  const output = await callTool(ctx, tool, input);
  const result: ToolResultPart = { type: 'tool-result', toolCallId: id, toolName: alias, output };
  ctx.turns.publish(resultPart(toToldResult(result), tool, count));
  return result;
}

async function callTool(ctx: Syscalls, tool: string, input: JsonValue): Promise<ToolResultPart['output']> {
  let edit: EditedCall | undefined;
  const onEdited = (made: EditedCall) => {
    edit = made;
  };
  try {
    const result = await ctx.tools.call(tool, input, { onEdited });
    return { type: 'json', value: limitResult(withEdit(result, edit)) };
  } catch (error) {
    return { type: 'error-json', value: withEdit(toolErrorValue(ctx, error), edit) as JsonOutput };
  }
}

/** A person may have put other arguments in the place of those of the model, which is told so. */
function withEdit(result: JsonValue, edit: EditedCall | undefined): JsonValue {
  if (edit === undefined) return result;
  const notice = 'A person has changed the arguments of this call. It was made with these.';
  return { notice, args: edit.args, by: edit.by, result };
}

type JsonOutput = Extract<ToolResultPart['output'], { type: 'json' }>['value'];

function limitResult(result: JsonValue): JsonOutput {
  const text = JSON.stringify(result);
  if (text.length <= resultCharactersMax) return result as JsonOutput;
  return { cut: true, characters: text.length, text: text.slice(0, resultCharactersMax).toWellFormed() };
}
