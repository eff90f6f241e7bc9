import { inject, injectable } from 'inversify';
import { BudgetError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import { Store, type WriteTx } from '../../base/store.js';
import type { EventData } from '../../events/event.js';
import type { Act } from '../../unit/act.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import type { RefusalObserver, RefusedCall } from '../../unit/refusal-observer.js';
import { isTerminal } from '../process/process.js';
import { ProcessRepository } from '../process/process-repository.js';
import { ProcessEnds } from './process-ends.js';

/** Appends an event for each refusal of a budget, and stops the process whose limit refused it if its spec has `onBudget: 'cancel'`. */
@injectable()
export class BudgetStops implements RefusalObserver {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(ProcessEnds) private readonly processEnds: ProcessEnds,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  onRecord(tx: WriteTx, { act: { at }, pid, error }: RefusedCall): void {
    if (error.code !== 'BUDGET_EXCEEDED') return;
    const data = error.facts as EventData['budget.exceeded'];
    this.recorder.recordEvent(tx, { type: 'budget.exceeded', at, ...(pid === undefined ? {} : { pid }), data });
  }

  async onRefusal({ act, error }: RefusedCall): Promise<void> {
    if (!(error instanceof BudgetError)) return;
    const pid = error.facts.process as Pid;
    const row = await this.store.read((tx) => this.processes.find(tx, pid));
    if (row?.onBudget !== 'cancel' || isTerminal(row.status)) return;
    await this.store.write((tx) => this.stop(tx, act, pid, `${error.facts.dimension}`));
  }

  private async stop(tx: WriteTx, act: Act, pid: Pid, dimension: string): Promise<void> {
    await this.processEnds.stop(
      tx,
      { ...act, actor: 'kernel' },
      {
        rows: await this.processes.findLiveTrees(tx, [pid]),
        order: { kind: 'budget_exhausted', reason: dimension, by: 'kernel' },
        action: 'process.budgetExhausted',
      },
    );
  }
}
