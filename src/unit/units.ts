import { inject, injectable, multiInject } from 'inversify';
import { Refusals } from '../audit/writing/refusals.js';
import { Clock, type KernelClock } from '../base/clock.js';
import { CapabilityError, InputError, KernelError, ProcessError, StoreError } from '../base/errors.js';
import type { Pid } from '../base/ids.js';
import type { JsonObject } from '../base/json.js';
import { Logger } from '../base/logger.js';
import { NodeIdentity } from '../base/node-identity.js';
import { type ReadTx, Store, type WriteTx } from '../base/store.js';
import type { Act } from './act.js';
import type { ActingProcess, Call, Caller, CallKind, ProcessCaller, RunHooks } from './caller.js';
import { DeadlineInterruption, Interruption, InterruptionHandler, PausedInterruption } from './interruption.js';
import { ProcessGate } from './process-gate.js';
import { RefusalObserver, type RefusedCall } from './refusal-observer.js';

const preparationsMax = 3;

/** The codes of calls that were not made within their own time limit. */
const timeoutCodes: ReadonlySet<string> = new Set(['WAIT_TIMEOUT', 'TOOL_TIMEOUT']);

/**
 * Runs the units of syscalls: one transaction each, with the hooks of the caller's run around it. Interruptions are
 * resolved and the unit is run again; a refusal undoes the unit and is recorded by a unit of its own.
 */
@injectable()
export class Units {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(NodeIdentity) private readonly node: NodeIdentity,
    @inject(Refusals) private readonly refusals: Refusals,
    @inject(InterruptionHandler) private readonly interruptions: InterruptionHandler,
    @inject(ProcessGate) private readonly gate: ProcessGate,
    @multiInject(RefusalObserver) private readonly observers: readonly RefusalObserver[],
    @inject(Logger) private readonly logger: Logger,
  ) {}

  /** One atomic write unit. Resolves after its commit. */
  commit<T>(call: Call, work: (tx: WriteTx, act: Act) => Promise<T>): Promise<T> {
    return this.recordRefusals(call, () => this.store.write((tx) => this.write(call, tx, work), processesOf(call)));
  }

  /**
   * As `commit`, after `prepare` has read what no unit may read, such as the file system. `work` throws
   * OutdatedPreparation when the state is no longer the one that `prepare` saw, and `prepare` runs again and is given it.
   */
  async commitPrepared<P, T>(
    call: Call,
    prepare: (outdated?: OutdatedPreparation) => Promise<P>,
    work: (tx: WriteTx, act: Act, prepared: P) => Promise<T>,
  ): Promise<T> {
    let outdated: OutdatedPreparation | undefined;
    for (let attempt = 1; ; attempt++) {
      const prepared = await prepare(outdated);
      const unit = () =>
        this.store.write((tx) => this.write(call, tx, (unitTx, act) => work(unitTx, act, prepared)), processesOf(call));
      try {
        return await this.recordRefusals(call, () => this.outdateByPause(unit));
      } catch (error) {
        if (!(error instanceof OutdatedPreparation)) throw error;
        if (!error.isLimited) attempt--;
        else if (attempt === preparationsMax) throw error;
        outdated = error;
      }
    }
  }

  /** Records a refusal that was decided before the unit of the call, and throws it. */
  refuse(call: Call, error: KernelError): Promise<never> {
    return this.recordRefusals(call, () => Promise.reject(error));
  }

  /** One read unit, for checks before a write. A refusal is recorded as in `commit`. */
  read<T>(call: Call, work: (tx: ReadTx) => Promise<T>): Promise<T> {
    const run = runHooksOf(call);
    return this.recordRefusals(call, () =>
      this.store.read(async (tx) => {
        const process = run === undefined ? await this.findCaller(tx, call) : await run.beforeRead(tx);
        if (process !== undefined) this.assertMayAct(call, process, this.clock.peek(), 'look');
        return work(tx);
      }),
    );
  }

  /**
   * Checks a read that needs no unit of its own, such as one that is answered from several. Throws PROCESS_TERMINATED for a
   * process that has ended and CANCELLED for one whose deadline has passed; the host reads everything.
   */
  async assertMayLook(caller: Caller): Promise<void> {
    if (caller.face === 'host') return;
    const { pid } = caller;
    const process = await this.store.read((tx) => this.gate.findLive(tx, pid));
    if (isExpired(process, this.clock.peek())) throw await this.gate.stopExpired(pid);
  }

  private async write<T>(call: Call, tx: WriteTx, work: (tx: WriteTx, act: Act) => Promise<T>): Promise<T> {
    const act = this.actOf(call);
    const run = runHooksOf(call);
    const process = run === undefined ? await this.findActing(tx, call) : await run.beforeWrite(tx, act);
    if (process !== undefined) this.assertMayAct(call, process, act.at, 'act');
    const answer = await work(tx, act);
    await run?.afterWrite(tx, act, answer);
    return answer;
  }

  /** The process of the caller, or the one that the host acts for; undefined for the host's own acts. */
  private async findActing(tx: ReadTx, call: Call): Promise<ActingProcess | undefined> {
    const { caller, actor, actsFor = actor } = call;
    const pid = caller.face === 'process' ? caller.pid : actsFor;
    return pid === 'host' ? undefined : this.gate.find(tx, pid);
  }

  private async findCaller(tx: ReadTx, { caller }: Call): Promise<ActingProcess | undefined> {
    return caller.face === 'host' ? undefined : this.gate.find(tx, caller.pid);
  }

  /** Calls of the host never wait for a pause, and those of a run have the hooks of the run for it. */
  private assertMayAct(call: Call, process: ActingProcess, at: number, kindDefault: CallKind): void {
    const { caller, kind = kindDefault } = call;
    const run = runHooksOf(call);
    if (kind === 'record' || run?.recordsOnly === true) return;
    if (isExpired(process, at)) throw new DeadlineInterruption(process.pid);
    if (!process.isPaused || kind === 'look' || caller.face === 'host' || run !== undefined) return;
    throw new PausedInterruption(() => this.gate.waitUntilResumed(caller, call));
  }

  /** Makes the caller prepare again after a pause: the preparation may not hold any more. */
  private async outdateByPause<T>(unit: () => Promise<T>): Promise<T> {
    try {
      return await unit();
    } catch (error) {
      if (!(error instanceof PausedInterruption)) throw error;
      await error.waitUntilResumed();
      throw new OutdatedByPause();
    }
  }

  private actOf({ caller, actor }: Call): Act {
    const at = this.clock.now();
    if (caller.face === 'process') return { actor: caller.pid, via: 'process', at, ...causeOf(caller) };
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
        else if (error instanceof DeadlineInterruption) throw await this.gate.stopExpired(error.pid);
        else await this.interruptions.resolve(call, this.actOf(call), error);
      }
    }
  }

  /** Errors of the store, of the input's form, of an outdated preparation and time limits are no decisions of the kernel. */
  private isRefusal(error: unknown): error is KernelError {
    if (!(error instanceof KernelError) || error instanceof StoreError || error instanceof InputError) return false;
    if (error instanceof OutdatedPreparation || timeoutCodes.has(error.code)) return false;
    return !this.interruptions.hasOwnRecord(error);
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
  /** Whether it counts towards the attempts after which the call is given up. */
  readonly isLimited: boolean = true;

  constructor(pid: Pid) {
    super('CONFLICT', `Process ${pid} changed while the call was being prepared.`, {
      facts: { pid },
      hint: 'Repeat the call.',
      retryable: true,
    });
  }
}

/** The process was paused after the call was prepared. It never reaches the caller. */
class OutdatedByPause extends OutdatedPreparation {
  override readonly isLimited: boolean = false;

  constructor() {
    super('');
  }
}

/** The processes that the unit of a call will look at. */
function processesOf({ caller, actor, actsFor, target }: Call): Pid[] {
  const named = [caller.face === 'process' ? caller.pid : undefined, actor, actsFor, target];
  return named.filter((pid): pid is Pid => pid !== undefined && pid !== 'host');
}

function isExpired({ deadlineAt }: ActingProcess, at: number): boolean {
  return deadlineAt !== null && deadlineAt <= at;
}

function causeOf({ run, cause = run?.cause }: ProcessCaller): { cause?: string } {
  return cause === undefined ? {} : { cause };
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
