import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import type { WakePort } from '../../capability/approval/wake-port.js';
import type { Act } from '../../unit/act.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import type { ProcessRow } from '../process/process.js';
import { ProcessRepository, saveProcess } from '../process/process-repository.js';
import { nextState } from '../process/transitions.js';

/** Wakes processes in the commit of what they waited for, so that no wake-up is lost. */
@injectable()
export class Waker implements WakePort {
  constructor(
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /** Wakes `pid` if it waits for `what`, a key such as `message:*`. */
  async wake(tx: WriteTx, act: Act, pid: Pid, what: string): Promise<void> {
    const row = await this.processes.find(tx, pid);
    if (row?.wait?.on?.includes(what) === true) await this.wakeRow(tx, act, row, what);
  }

  /** Wakes a process that is waiting, or was when it was paused; answers with its row. */
  async wakeRow(tx: WriteTx, act: Act, row: ProcessRow, what: string): Promise<ProcessRow> {
    const isWaiting = row.status === 'waiting' || (row.status === 'paused' && row.previous === 'waiting');
    if (!isWaiting) return row;
    const next = { ...nextState(row, 'wake'), alarmAt: row.deadlineAt, updatedAt: act.at };
    await saveProcess(this.processes, tx, next);
    this.recorder.record(tx, act, next, {
      event: 'process.woken',
      data: { status: next.status, by: what },
      action: 'process.wake',
      before: row.status,
      after: next.status,
      facts: { by: what },
    });
    return next;
  }
}
