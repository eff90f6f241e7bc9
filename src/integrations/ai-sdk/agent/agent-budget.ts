import { isKernelError, type JsonObject } from '../../../index.js';

/** Of a longer text the end is kept. */
const partialCharsMax = 16_384;

/** The error with what the agent has said so far, for the outcome of a process whose budget is used up. Any other as it is. */
export function withPartial(error: unknown, partial: string, turns: number): unknown {
  if (!isKernelError(error, 'BUDGET_EXCEEDED')) return error;
  const evidence: JsonObject = { partial: partial.slice(-partialCharsMax).toWellFormed(), turns };
  return Object.assign(error, { evidence });
}
