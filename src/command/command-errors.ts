import { ProcessError } from '../base/errors.js';
import type { ProcessRow } from '../kernel/process/process.js';

/** Of a command that was lost with its kernel: nobody has seen how it ended. */
export function outcomeUnknown({ pid, outcome }: Pick<ProcessRow, 'pid' | 'outcome'>): ProcessError {
  return new ProcessError('OUTCOME_UNKNOWN', `How command ${pid} has ended is not known.`, {
    facts: { pid, reason: outcome?.reason ?? null },
    hint: 'Its kernel was gone when it ended: processes.readOutput shows what it has written. Find out, then decide.',
  });
}
