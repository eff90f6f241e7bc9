import { ProcessError } from '../../base/errors.js';
import type { WriteTx } from '../../base/store.js';
import type { ProcessRow } from './process.js';
import type { ProcessRepository } from './process-repository.js';

/** Writes a changed row. Throws CONFLICT when the row was changed since it was read. */
export async function saveProcess(processes: ProcessRepository, tx: WriteTx, next: ProcessRow): Promise<void> {
  if (!(await processes.update(tx, next))) throw conflict(next);
}

/** Writes a changed row whose parent or root is another one now. Throws CONFLICT as saveProcess does. */
export async function saveMovedProcess(processes: ProcessRepository, tx: WriteTx, next: ProcessRow): Promise<void> {
  if (!(await processes.move(tx, next))) throw conflict(next);
}

function conflict({ pid, version }: ProcessRow): ProcessError {
  return new ProcessError('CONFLICT', `Process ${pid} was changed by somebody else at the same time.`, {
    facts: { pid, version: version - 1 },
    hint: 'Look at it again and repeat the call if it still applies.',
    retryable: true,
  });
}
