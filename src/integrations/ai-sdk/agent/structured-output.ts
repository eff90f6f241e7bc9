import type { ModelMessage } from 'ai';
import { isKernelError, type JsonValue, ProcessError, type Schema, validateValue } from '../../../index.js';

/** The object in an answer, or the problem that the model is told. */
export type ParsedOutput = { readonly object: JsonValue } | { readonly problem: string };

/** Parses the answer as JSON, also in a fenced block, and validates it. */
export async function parseOutput(schema: Schema, text: string): Promise<ParsedOutput> {
  const json = parseJson(text);
  if (json === undefined) return { problem: 'it is not JSON' };
  try {
    await validateValue(schema, json, 'answer');
    return { object: json };
  } catch (error) {
    if (!isKernelError(error, 'INVALID_INPUT')) throw error;
    return { problem: error.message };
  }
}

function parseJson(text: string): JsonValue | undefined {
  const fenced = /```(?:json)?\s*\n([\s\S]*?)\n\s*```/.exec(text)?.[1];
  for (const candidate of [text, fenced ?? text]) {
    try {
      return JSON.parse(candidate) as JsonValue;
    } catch {
      // The next candidate, or no JSON at all.
    }
  }
  return undefined;
}

/** Asks the model to mend its answer. */
export function repairMessage(problem: string): ModelMessage {
  return {
    role: 'user',
    content: `Your answer does not fit the schema: ${problem} Answer again with the JSON object only.`,
  };
}

/** Throws INVALID_OUTPUT for an answer that does not fit after it was to be mended. */
export function invalidOutput(pid: string, problem: string, text: string): ProcessError {
  return new ProcessError('INVALID_OUTPUT', `The answer of process ${pid} does not fit its schema: ${problem}`, {
    facts: { pid, problem, answer: text.slice(0, 2_000).toWellFormed() },
    hint: 'Say in the system prompt what the object is for, or make the schema simpler.',
  });
}
