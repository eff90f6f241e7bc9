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

/** Announces refusals of a budget, and stops the process that binds where it was spawned with `onBudget: 'cancel'`. */
@injectable()
export class BudgetStops implements RefusalObserver {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(ProcessEnds) private readonly endings: ProcessEnds,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  recording(tx: WriteTx, { act: { at }, pid, error }: RefusedCall): void {
    if (error.code !== 'BUDGET_EXCEEDED') return;
    const data = error.facts as EventData['budget.exceeded'];
    this.recorder.event(tx, { type: 'budget.exceeded', at, ...(pid === undefined ? {} : { pid }), data });
  }

  async refused({ act, error }: RefusedCall): Promise<void> {
    if (!(error instanceof BudgetError)) return;
    const binding = error.facts.process as Pid;
    const bound = await this.store.read((tx) => this.processes.find(tx, binding));
    if (bound?.onBudget !== 'cancel' || isTerminal(bound.status)) return;
    await this.store.write((tx) => this.stop(tx, act, binding, `${error.facts.dimension}`));
  }

  private async stop(tx: WriteTx, act: Act, pid: Pid, dimension: string): Promise<void> {
    await this.endings.stop(
      tx,
      { ...act, actor: 'kernel' },
      {
        rows: await this.processes.liveTree(tx, pid),
        order: { kind: 'budget_exhausted', reason: dimension, by: 'kernel' },
        action: 'process.budgetExhausted',
      },
    );
  }
}
