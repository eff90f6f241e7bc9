import { ProcessError } from '../../base/errors.js';
import type { JsonObject } from '../../base/json.js';
import type { ProcessResult } from './process.js';

/** The value of the result of a process that has exited; undefined where it gave none. Throws PROCESS_FAILED for any other end. */
export function exitValueOf<Value>({ pid, status, outcome, message, value }: ProcessResult<Value>): Value | undefined {
  if (status === 'exited') return value;
  const told = message === undefined ? '' : `: ${message}`;
  throw new ProcessError('PROCESS_FAILED', `Process ${pid} ended as ${outcome.kind}${told}`, {
    facts: {
      pid,
      status,
      outcome: outcome as object as JsonObject,
      ...(message === undefined ? {} : { message }),
    },
    hint: 'The outcome among the facts says why. processes.result, or wait of a process, answers with it instead of throwing.',
  });
}
