import { inject, injectable } from 'inversify';
import { Refusals } from '../audit/writing/refusals.js';
import { Clock } from '../base/clock.js';
import { CapabilityError, InputError, KernelError, StoreError } from '../base/errors.js';
import type { Pid } from '../base/ids.js';
import type { JsonObject } from '../base/json.js';
import { Logger } from '../base/logger.js';
import { NodeIdentity } from '../base/node-identity.js';
import { type ReadTx, Store, type WriteTx } from '../base/store.js';
import { EventLog } from '../events/event-outbox.js';
import { type Act, type Call, Parked, runOf } from '../unit/act.js';
import { AskNeeded } from './approval/approval-errors.js';
import { ApprovalDesk } from './approval/approval-gate.js';

/** Runs the units of calls: what a person must approve is asked first, and a refusal is on record. */
@injectable()
export class RecordedUnits {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: Clock,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(Refusals) private readonly refusals: Refusals,
    @inject(ApprovalDesk) private readonly desk: ApprovalDesk,
    @inject(EventLog) private readonly events: EventLog,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  /** One atomic unit. Resolves after its commit; a refusal undoes it and is recorded by a unit of its own. */
  commit<T>(call: Call, work: (tx: WriteTx, act: Act) => Promise<T>): Promise<T> {
    return this.recorded(call, () => this.store.write((tx) => this.unit(call, tx, work)));
  }

  /** What a call has to know before its unit, from one committed state. A refusal is recorded as in `commit`. */
  look<T>(call: Call, work: (tx: ReadTx) => Promise<T>): Promise<T> {
    const run = runOf(call.caller);
    return this.recorded(call, () =>
      this.store.read(async (tx) => {
        await run?.look(tx);
        return work(tx);
      }),
    );
  }

  private async unit<T>(call: Call, tx: WriteTx, work: (tx: WriteTx, act: Act) => Promise<T>): Promise<T> {
    const act = this.act(call);
    const run = runOf(call.caller);
    if (run === undefined) return work(tx, act);
    await run.enter(tx, act);
    const answer = await work(tx, act);
    await run.leave(tx, act, answer);
    return answer;
  }

  private act({ caller, actor }: Call): Act {
    const at = this.clock.now();
    if (caller.face === 'process') return { actor: caller.pid, via: 'process', at };
    return { actor, via: `host:${this.node.operator}`, at };
  }

  private async recorded<T>(call: Call, run: () => Promise<T>): Promise<T> {
    try {
      return await this.cleared(call, run);
    } catch (error) {
      if (this.isRefusal(error)) await this.recordSafely(call, error);
      throw error;
    }
  }

  /**
   * What stops at a question for a person, or at a pause, is run again when that is over; everything is then checked anew.
   */
  private async cleared<T>(call: Call, run: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await run();
      } catch (error) {
        if (error instanceof AskNeeded) await this.desk.attend(call, this.act(call), error.ask);
        else if (error instanceof Parked) await error.over();
        else throw error;
      }
    }
  }

  /** What the store or the form of the input has refused is no decision; what a person decides, the desk records. */
  protected isRefusal(error: unknown): error is KernelError {
    if (!(error instanceof KernelError) || error instanceof StoreError || error instanceof InputError) return false;
    return error.code !== 'APPROVAL_PENDING' && error.code !== 'APPROVAL_DENIED';
  }

  protected async record(call: Call, act: Act, error: KernelError): Promise<void> {
    const { action, target } = call;
    const { code, facts } = error;
    await this.refusals.note(
      {
        ...act,
        action,
        outcome: 'refused',
        code,
        ...(target === undefined ? {} : { target }),
        ...(error instanceof CapabilityError ? { decision: 'deny' } : {}),
        ...(typeof facts.right === 'string' ? { right: facts.right } : {}),
        ...(typeof facts.resource === 'string' ? { resource: facts.resource } : {}),
        ...missed(facts),
      },
      (tx) => this.announce(tx, act, act.actor === 'host' ? target : act.actor, error),
    );
  }

  private async recordSafely(call: Call, error: KernelError): Promise<void> {
    try {
      await this.record(call, this.act(call), error);
    } catch (failure) {
      this.logger.error(
        { action: call.action, code: error.code, failure: String(failure) },
        'a refusal was not recorded',
      );
    }
  }

  /** The two kinds of refusal that others may want to react to. */
  private announce(tx: WriteTx, { at }: Act, pid: Pid | undefined, { code, facts }: KernelError): void {
    const about = pid === undefined ? { at } : { at, pid };
    if (code === 'BUDGET_EXCEEDED') this.events.append(tx, { ...about, type: 'budget.exceeded', data: facts });
    if (code !== 'AMPLIFICATION' && !code.startsWith('CAPABILITY_')) return;
    const { resource = '', rights = [], right = rights } = facts;
    const data = { code, kind: `${resource}`.split(':')[0] ?? '', right: `${right}` };
    this.events.append(tx, { ...about, type: 'capability.denied', data });
  }
}

/** What came near, by which the record can be asked what was missing. */
function missed({ code, nearest }: JsonObject): { facts?: JsonObject } {
  if (!Array.isArray(nearest)) return {};
  const near = (nearest as readonly JsonObject[]).map(({ capability = '' }) => capability);
  return { facts: { ...(code === undefined ? {} : { code }), nearest: near } };
}
