import { inject, injectable } from 'inversify';
import { ProcessError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import type { ReadTx } from '../../base/store.js';
import { isTerminal, type ProcessRow } from './process.js';
import { ProcessRepository } from './process-repository.js';
import { processTerminated } from './transitions.js';

/** Finds the process that a call names, in the state that the call needs. */
@injectable()
export class ProcessLookup {
  constructor(@inject(ProcessRepository) private readonly processes: ProcessRepository) {}

  /** Throws NO_SUCH_PROCESS. */
  async get(tx: ReadTx, pid: Pid): Promise<ProcessRow> {
    const row = await this.processes.find(tx, pid);
    if (row === undefined) throw noSuchProcess(pid);
    return row;
  }

  /** Throws NO_SUCH_PROCESS, PROCESS_TERMINATED. */
  async getLive(tx: ReadTx, pid: Pid): Promise<ProcessRow> {
    const row = await this.get(tx, pid);
    if (isTerminal(row.status)) throw processTerminated(row);
    return row;
  }

  /** A process that may get a child or another image. Throws NO_SUCH_PROCESS, PROCESS_TERMINATED, TREE_STOPPING. */
  async getSpawnable(tx: ReadTx, pid: Pid): Promise<ProcessRow> {
    const row = await this.getLive(tx, pid);
    if (row.status !== 'stopping') return row;
    throw new ProcessError('TREE_STOPPING', `Process ${pid} is being stopped: it can start nothing new.`, {
      facts: { pid, status: row.status, reason: row.stop?.kind ?? null },
      hint: 'Wait for its end; spawn under a process that goes on.',
    });
  }
}

export function noSuchProcess(pid: string): ProcessError {
  const shown = pid.slice(0, 100);
  return new ProcessError('NO_SUCH_PROCESS', `There is no process ${JSON.stringify(shown)}.`, {
    facts: { pid: shown },
    hint: 'processes.list() shows those that there are; pruned ones are only in the audit log.',
  });
}
