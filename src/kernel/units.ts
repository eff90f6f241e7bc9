import { inject, injectable } from 'inversify';
import { Refusals } from '../audit/refusals.js';
import { Clock } from '../base/clock.js';
import { BudgetError, CapabilityError, InputError, KernelError, ProcessError, StoreError } from '../base/errors.js';
import type { Pid } from '../base/ids.js';
import { Logger } from '../base/logger.js';
import { NodeIdentity } from '../base/node-identity.js';
import { type ReadTx, Store, type WriteTx } from '../base/store.js';
import { EventLog } from '../events/event-log.js';
import type { Act, Caller } from './act.js';
import { Overspending } from './overspending.js';

/** What is being called, for the record: by whom, and upon what. */
export interface Call {
  readonly caller: Caller;
  /** The process that a host call acts for, or `host` for the host's own acts. The process face acts as itself. */
  readonly actor: Pid | 'host';
  readonly action: string;
  readonly target?: Pid;
}

const shapesMax = 3;

/** Runs the write units of syscalls, and sees to it that a refusal inside one is on record. */
@injectable()
export class Units {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: Clock,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(Refusals) private readonly refusals: Refusals,
    @inject(Overspending) private readonly overspending: Overspending,
    @inject(EventLog) private readonly events: EventLog,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  /** One atomic unit. Resolves after its commit; a refusal undoes it and is recorded by a unit of its own. */
  async commit<T>(call: Call, work: (tx: WriteTx, act: Act) => Promise<T>): Promise<T> {
    return this.recorded(call, () => this.store.write((tx) => work(tx, this.act(call))));
  }

  /** What a call has to know before its unit, from one committed state. A refusal is recorded as in `commit`. */
  look<T>(call: Call, work: (tx: ReadTx) => Promise<T>): Promise<T> {
    return this.recorded(call, () => this.store.read(work));
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

  private async recorded<T>(call: Call, run: () => Promise<T>): Promise<T> {
    try {
      return await run();
    } catch (error) {
      if (isRefusal(error)) await this.record(call, error);
      throw error;
    }
  }

  private act({ caller, actor }: Call): Act {
    const at = this.clock.now();
    if (caller.face === 'process') return { actor: caller.pid, via: 'process', at };
    return { actor, via: `host:${this.node.operator}`, at };
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

  private async record(call: Call, error: KernelError): Promise<void> {
    try {
      const { action, target } = call;
      const act = this.act(call);
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
        },
        (tx) => this.announce(tx, act, target, error),
      );
      if (error instanceof BudgetError) await this.overspending.stopIfAsked(act, error);
    } catch (failure) {
      this.logger.error(
        { action: call.action, code: error.code, failure: String(failure) },
        'a refusal was not recorded',
      );
    }
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

function isRefusal(error: unknown): error is KernelError {
  return (
    error instanceof KernelError &&
    !(error instanceof StoreError || error instanceof InputError || error instanceof Stale)
  );
}
