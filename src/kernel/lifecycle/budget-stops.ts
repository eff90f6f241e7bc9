import { inject, injectable } from 'inversify';
import type { KernelError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import { Store, type WriteTx } from '../../base/store.js';
import type { Act } from '../act.js';
import { isTerminal } from '../process/process.js';
import { ProcessRepository } from '../process/process-repository.js';
import { Endings } from './process-ends.js';

/** What follows when a budget has refused a call, for a process that asked for it. */
@injectable()
export class Overspending {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(Endings) private readonly endings: Endings,
  ) {}

  /** Stops the process that binds, with what is below it, when it was spawned with `onBudget: 'cancel'`. */
  async stopIfAsked(act: Act, { facts }: KernelError): Promise<void> {
    const binding = facts.process as Pid;
    const bound = await this.store.read((tx) => this.processes.find(tx, binding));
    if (bound?.onBudget !== 'cancel' || isTerminal(bound.status)) return;
    await this.store.write((tx) => this.stop(tx, act, binding, `${facts.dimension}`));
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
