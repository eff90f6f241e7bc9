import { inject, injectable } from 'inversify';
import type { KernelError } from '../base/errors.js';
import type { Pid } from '../base/ids.js';
import { Store } from '../base/store.js';
import { EventLog } from '../events/event-log.js';
import type { Act } from './act.js';
import { Endings, graceMsDefault } from './endings.js';
import { isTerminal } from './process.js';
import { ProcessRepository } from './process-repository.js';

/** What follows when a budget has refused a call: an event, and the stop of a process that asked for it. */
@injectable()
export class Overspending {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(EventLog) private readonly events: EventLog,
    @inject(Endings) private readonly endings: Endings,
  ) {}

  async happened(act: Act, error: KernelError): Promise<void> {
    const binding = error.facts.process as Pid;
    const bound = await this.store.read((tx) => this.processes.find(tx, binding));
    if (bound?.onBudget !== 'cancel') return;
    await this.store.write(async (tx) => {
      const row = await this.processes.find(tx, binding);
      if (row === undefined || isTerminal(row.status) || row.status === 'stopping') return;
      this.events.append(tx, { type: 'budget.exceeded', at: act.at, pid: row.pid, root: row.root, data: error.facts });
      await this.endings.stop(
        tx,
        { ...act, actor: 'kernel' },
        {
          rows: await this.processes.liveTree(tx, row.pid),
          order: { kind: 'budget_exhausted', reason: `${error.facts.dimension}`, by: 'kernel' },
          graceMs: graceMsDefault,
          action: 'process.budgetExhausted',
        },
      );
    });
  }
}
