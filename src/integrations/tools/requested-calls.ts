import type { JsonValue } from '../../index.js';
import type { CalledValue } from '../shared/call-as-value.js';
import type { CallableTool } from './callable-tools.js';

/** A call that a model requests. */
export interface RequestedCall {
  readonly id: string;
  readonly name: string;
  /** The arguments, or their text as JSON, which may be cut off. */
  readonly args: unknown;
}

/** Options of a round of calls. */
export interface ResultsOptions {
  /** Gives the calls up. */
  readonly signal?: AbortSignal;
}

/**
 * Runs the calls of one answer side by side; the results are in their order. Where the answer was cut off, none is run: the
 * arguments of the last one may not be complete. Throws as `call` of a tool does.
 */
export function runCalls<Result>(
  tools: readonly CallableTool[],
  calls: readonly RequestedCall[],
  isCutOff: boolean,
  options: ResultsOptions,
  toResult: (call: RequestedCall, called: CalledValue) => Result,
): Promise<Result[]> {
  return Promise.all(
    calls.map(async (call) => toResult(call, isCutOff ? cutOff : await runCall(tools, call, options))),
  );
}

function runCall(tools: readonly CallableTool[], { name, args }: RequestedCall, options: ResultsOptions) {
  const tool = tools.find((offered) => offered.name === name);
  if (tool === undefined) return notOffered(name, tools);
  const parsed = typeof args === 'string' ? parseArguments(args) : { value: (args ?? {}) as JsonValue };
  return parsed === undefined ? notJson : tool.call(parsed.value, options);
}

/** No text at all are no arguments. */
function parseArguments(text: string): { readonly value: JsonValue } | undefined {
  try {
    return { value: JSON.parse(text === '' ? '{}' : text) as JsonValue };
  } catch {
    // The model reads that they are not JSON.
    return undefined;
  }
}

/** The text of a result: a string as it is, any other value as JSON. */
export function resultText({ value }: CalledValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function refused(code: string, message: string, hint: string): CalledValue {
  return { value: { error: { code, message, hint } }, isError: true };
}

const cutOff = refused(
  'INVALID_INPUT',
  'The answer with this call was cut off.',
  'Make the call again, in a shorter answer.',
);
const notJson = refused('INVALID_INPUT', 'The arguments are not JSON.', 'Write the arguments as one JSON object.');

function notOffered(name: string, tools: readonly CallableTool[]): CalledValue {
  const names = tools.map((tool) => tool.name).join(', ');
  return refused('NO_SUCH_TOOL', `There is no tool ${name}.`, `The tools are ${names}.`);
}
