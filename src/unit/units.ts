import { inject, injectable, multiInject } from 'inversify';
import { Refusals } from '../audit/writing/refusals.js';
import { Clock } from '../base/clock.js';
import { CapabilityError, InputError, KernelError, ProcessError, StoreError } from '../base/errors.js';
import type { Pid } from '../base/ids.js';
import type { JsonObject } from '../base/json.js';
import { Logger } from '../base/logger.js';
import { NodeIdentity } from '../base/node-identity.js';
import { type ReadTx, Store, type WriteTx } from '../base/store.js';
import type { Act } from './act.js';
import type { Call, RunHooks } from './caller.js';
import { Interruption, InterruptionHandler, PausedInterruption } from './interruption.js';
import { RefusalObserver, type RefusedCall } from './refusal-observer.js';

const preparationsMax = 3;

/**
 * Runs the units of syscalls: one transaction each, with the hooks of the caller's run around it. Interruptions are
 * resolved and the unit is run again; a refusal undoes the unit and is recorded by a unit of its own.
 */
@injectable()
export class Units {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: Clock,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(Refusals) private readonly refusals: Refusals,
    @inject(InterruptionHandler) private readonly interruptions: InterruptionHandler,
    @multiInject(RefusalObserver) private readonly observers: readonly RefusalObserver[],
    @inject(Logger) private readonly logger: Logger,
  ) {}

  /** One atomic write unit. Resolves after its commit. */
  commit<T>(call: Call, work: (tx: WriteTx, act: Act) => Promise<T>): Promise<T> {
    return this.recordRefusals(call, () => this.store.write((tx) => this.write(call, tx, work)));
  }

  /**
   * As `commit`, after `prepare` has read what no unit may read, such as the file system. `work` throws
   * OutdatedPreparation when the state is no longer the one that `prepare` saw, and `prepare` runs again.
   */
  async commitPrepared<P, T>(
    call: Call,
    prepare: () => Promise<P>,
    work: (tx: WriteTx, act: Act, prepared: P) => Promise<T>,
  ): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const prepared = await prepare();
      try {
        return await this.commit(call, (tx, act) => work(tx, act, prepared));
      } catch (error) {
        if (!(error instanceof OutdatedPreparation) || attempt === preparationsMax) throw error;
      }
    }
  }

  /** One read unit, for checks before a write. A refusal is recorded as in `commit`. */
  read<T>(call: Call, work: (tx: ReadTx) => Promise<T>): Promise<T> {
    const run = runHooksOf(call);
    return this.recordRefusals(call, () =>
      this.store.read(async (tx) => {
        await run?.beforeRead(tx);
        return work(tx);
      }),
    );
  }

  private async write<T>(call: Call, tx: WriteTx, work: (tx: WriteTx, act: Act) => Promise<T>): Promise<T> {
    const act = this.actOf(call);
    const run = runHooksOf(call);
    if (run === undefined) return work(tx, act);
    await run.beforeWrite(tx, act);
    const answer = await work(tx, act);
    await run.afterWrite(tx, act, answer);
    return answer;
  }

  private actOf({ caller, actor }: Call): Act {
    const at = this.clock.now();
    if (caller.face === 'process') return { actor: caller.pid, via: 'process', at };
    return { actor, via: `host:${this.node.operator}`, at };
  }

  private async recordRefusals<T>(call: Call, unit: () => Promise<T>): Promise<T> {
    try {
      return await this.retryInterrupted(call, unit);
    } catch (error) {
      if (this.isRefusal(error)) await this.recordRefusalSafely(call, error);
      throw error;
    }
  }

  private async retryInterrupted<T>(call: Call, unit: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await unit();
      } catch (error) {
        if (!(error instanceof Interruption)) throw error;
        if (error instanceof PausedInterruption) await error.waitUntilResumed();
        else await this.interruptions.resolve(call, this.actOf(call), error);
      }
    }
  }

  /** Errors of the store, of the input's form and of an outdated preparation are no decisions of the kernel. */
  private isRefusal(error: unknown): error is KernelError {
    if (!(error instanceof KernelError) || error instanceof StoreError || error instanceof InputError) return false;
    return !(error instanceof OutdatedPreparation) && !this.interruptions.hasOwnRecord(error);
  }

  private async recordRefusalSafely(call: Call, error: KernelError): Promise<void> {
    try {
      await this.recordRefusal(call, this.actOf(call), error);
    } catch (failure) {
      this.logger.error(
        { action: call.action, code: error.code, failure: String(failure) },
        'a refusal was not recorded',
      );
    }
  }

  private async recordRefusal({ action, target }: Call, act: Act, error: KernelError): Promise<void> {
    const { code, facts } = error;
    const refused: RefusedCall = { act, pid: act.actor === 'host' ? target : act.actor, error };
    await this.refusals.record(
      {
        ...act,
        action,
        outcome: 'refused',
        code,
        ...(target === undefined ? {} : { target }),
        ...(error instanceof CapabilityError ? { decision: 'deny' } : {}),
        ...(typeof facts.right === 'string' ? { right: facts.right } : {}),
        ...(typeof facts.resource === 'string' ? { resource: facts.resource } : {}),
        ...nearestOf(facts),
      },
      (tx) => {
        for (const observer of this.observers) observer.onRecord?.(tx, refused);
      },
    );
    for (const observer of this.observers) await observer.onRefusal?.(refused);
  }
}

/** The state that a call was prepared for has changed. Reaches the caller only when it changed at every attempt. */
export class OutdatedPreparation extends ProcessError {
  constructor(pid: Pid) {
    super('CONFLICT', `Process ${pid} changed while the call was being prepared.`, {
      facts: { pid },
      hint: 'Repeat the call.',
      retryable: true,
    });
  }
}

function runHooksOf({ caller }: Call): RunHooks | undefined {
  return caller.face === 'process' ? caller.run : undefined;
}

/** The capabilities that came nearest to allowing the call, for `audit.authority`. */
function nearestOf({ code, nearest }: JsonObject): { facts?: JsonObject } {
  if (!Array.isArray(nearest)) return {};
  const capabilities = (nearest as readonly JsonObject[]).map(({ capability = '' }) => capability);
  return { facts: { ...(code === undefined ? {} : { code }), nearest: capabilities } };
}
