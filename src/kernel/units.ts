import { inject, injectable } from 'inversify';
import { Refusals } from '../audit/writing/refusals.js';
import { Clock } from '../base/clock.js';
import { BudgetError, type KernelError, ProcessError } from '../base/errors.js';
import type { Pid } from '../base/ids.js';
import { Logger } from '../base/logger.js';
import { NodeIdentity } from '../base/node-identity.js';
import { Store, type WriteTx } from '../base/store.js';
import { ApprovalDesk } from '../capability/approval/approval-gate.js';
import { RecordedUnits } from '../capability/recorded-units.js';
import { EventLog } from '../events/event-outbox.js';
import type { Act, Call } from './act.js';
import { Overspending } from './lifecycle/budget-stops.js';

const shapesMax = 3;

/** The units of syscalls: refusals are on record, and a budget that has refused does what it was set to do. */
@injectable()
export class Units extends RecordedUnits {
  constructor(
    @inject(Store) store: Store,
    @inject(Clock) clock: Clock,
    @inject(NodeIdentity) node: NodeIdentity,
    @inject(Refusals) refusals: Refusals,
    @inject(ApprovalDesk) desk: ApprovalDesk,
    @inject(EventLog) events: EventLog,
    @inject(Logger) logger: Logger,
    @inject(Overspending) private readonly overspending: Overspending,
  ) {
    super(store, clock, node, refusals, desk, events, logger);
  }

  /** As commit, after `shape` has looked at what no unit may look at. `work` throws `stale` when it sees another state. */
  async shaped<S, T>(
    call: Call,
    shape: () => Promise<S>,
    work: (tx: WriteTx, act: Act, shaped: S) => Promise<T>,
  ): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const shaped = await shape();
      try {
        return await this.commit(call, (tx, act) => work(tx, act, shaped));
      } catch (error) {
        if (!(error instanceof Stale) || attempt === shapesMax) throw error;
      }
    }
  }

  protected override isRefusal(error: unknown): error is KernelError {
    return !(error instanceof Stale) && super.isRefusal(error);
  }

  protected override async record(call: Call, act: Act, error: KernelError): Promise<void> {
    await super.record(call, act, error);
    if (error instanceof BudgetError) await this.overspending.stopIfAsked(act, error);
  }
}

/** What the shape phase saw is no longer so. Told to the caller only when it changed again and again. */
export class Stale extends ProcessError {
  constructor(pid: Pid) {
    super('CONFLICT', `Process ${pid} changed while the call was being prepared.`, {
      facts: { pid },
      hint: 'Repeat the call.',
      retryable: true,
    });
  }
}
