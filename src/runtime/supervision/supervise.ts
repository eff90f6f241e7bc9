import { KernelError, ProcessError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import type { ProcessResult } from '../../kernel/process/process.js';
import type { Syscalls } from '../run/body-context.js';
import { RestartWindow } from './restart-window.js';
import type { RestartCalls } from './restarts.js';
import type { SupervisedChild, Supervision } from './supervision.js';

/** The place of a child: the process that is in it, or was in it last. */
interface Place {
  readonly child: SupervisedChild;
  pid: Pid | undefined;
  isLive: boolean;
  /** When it is filled again, and why. */
  restart: DueRestart | undefined;
}

interface DueRestart {
  readonly dueAt: number;
  readonly reason: string;
  /** The process whose end brought it about, and how that ended. */
  readonly because: Pid;
  readonly detail: string | undefined;
}

/**
 * The body of a supervisor. It is an ordinary body: what it does it does through calls that are kept, so that a rerun finds
 * the same children and goes on with them. The stop of its whole tree is the kernel's affair.
 */
export class Supervisor {
  private readonly places: readonly Place[];
  private readonly window: RestartWindow;

  constructor(
    private readonly plan: Supervision,
    private readonly ctx: Syscalls,
    private readonly calls: RestartCalls,
  ) {
    this.places = plan.children.map((child) => ({ child, pid: undefined, isLive: false, restart: undefined }));
    this.window = new RestartWindow(plan);
  }

  /** Returns when no child is left, and none is to be started again. Throws SUPERVISOR_INTENSITY, and what spawning throws. */
  async run(): Promise<void> {
    await this.start(this.places);
    for (;;) {
      const dueAt = this.nextDue();
      if (dueAt !== undefined) await this.endOrRestart(dueAt);
      else if (this.live().length > 0) await this.ended(await this.ctx.waitAny(this.live()));
      else return;
    }
  }

  private async ended(result: ProcessResult): Promise<void> {
    const { pid, status, outcome } = result;
    const place = this.places.find((each) => each.pid === pid) as Place;
    place.isLive = false;
    if (!isRestarted(place.child, status)) return;
    const at = await this.calls.now();
    const delayMs = this.window.count(at);
    if (delayMs === undefined) return this.giveUp(place, result);
    const affected = this.affected(place);
    await this.stop(affected, `${this.plan.strategy}: ${place.child.name} ended (${outcome.kind})`);
    for (const each of affected) {
      if (each !== place && each.child.restart === 'temporary') continue;
      const reason = each === place ? outcome.kind : this.plan.strategy;
      each.restart = { dueAt: at + delayMs, reason, because: pid, detail: outcome.reason };
    }
    if (delayMs === 0) await this.startDue(at);
  }

  /** Those that are started anew when the child in `place` is. */
  private affected(place: Place): readonly Place[] {
    switch (this.plan.strategy) {
      case 'one_for_one':
        return [place];
      case 'one_for_all':
        return this.places;
      case 'rest_for_one':
        return this.places.slice(this.places.indexOf(place));
    }
  }

  private async giveUp(place: Place, result: ProcessResult): Promise<never> {
    const { intensity, periodMs } = this.plan;
    await this.stop(this.places, `${place.child.name} failed too often`);
    throw tooOften(place.child.name, result, intensity, periodMs);
  }

  /** Whichever is first: the end of another child, or the moment of the next restart. */
  private async endOrRestart(dueAt: number): Promise<void> {
    const timeoutMs = dueAt - (await this.calls.now());
    const ended = timeoutMs > 0 ? await this.endWithin(timeoutMs) : undefined;
    if (ended !== undefined) await this.ended(ended);
    else await this.startDue(dueAt);
  }

  private async endWithin(timeoutMs: number): Promise<ProcessResult | undefined> {
    const live = this.live();
    try {
      if (live.length > 0) return await this.ctx.waitAny(live, { timeoutMs });
      await this.ctx.sleep(timeoutMs);
      return undefined;
    } catch (error) {
      if (error instanceof ProcessError && error.code === 'WAIT_TIMEOUT') return undefined;
      throw error;
    }
  }

  private async startDue(now: number): Promise<void> {
    await this.start(this.places.filter(({ restart }) => restart !== undefined && restart.dueAt <= now));
  }

  /** Left to right. When one cannot be started, none stays. */
  private async start(places: readonly Place[]): Promise<void> {
    for (const place of places) {
      try {
        place.pid = await this.spawn(place);
      } catch (error) {
        await this.stop(this.places, `${place.child.name} could not be started`);
        throw notStarted(place.child.name, error);
      }
      place.isLive = true;
      place.restart = undefined;
    }
  }

  private spawn({ child, pid, restart }: Place): Promise<Pid> {
    const { restart: _rule, shutdownMs: _shutdownMs, ...spec } = child;
    if (restart === undefined || pid === undefined) return this.ctx.spawnChild(spec);
    const { reason, because, detail } = restart;
    return this.calls.restart(spec, { child: child.name, instead: pid, reason, because, detail });
  }

  /** Right to left, each of them gone before the next is told; one that takes too long is killed by the kernel. */
  private async stop(places: readonly Place[], reason: string): Promise<void> {
    for (const place of places.toReversed()) {
      place.restart = undefined;
      if (!place.isLive || place.pid === undefined) continue;
      const { shutdownMs } = place.child;
      await this.ctx.cancel(place.pid, reason, shutdownMs === undefined ? {} : { graceMs: shutdownMs });
      await this.ctx.wait(place.pid);
      place.isLive = false;
    }
  }

  private live(): Pid[] {
    return this.places.flatMap(({ pid, isLive }) => (isLive && pid !== undefined ? [pid] : []));
  }

  private nextDue(): number | undefined {
    const due = this.places.flatMap(({ restart }) => (restart === undefined ? [] : [restart.dueAt]));
    return due.length === 0 ? undefined : Math.min(...due);
  }
}

function isRestarted({ restart }: SupervisedChild, status: ProcessResult['status']): boolean {
  switch (restart) {
    case 'permanent':
      return true;
    case 'transient':
      return status !== 'exited';
    case 'temporary':
      return false;
  }
}

function tooOften(child: string, { pid, outcome }: ProcessResult, intensity: number, periodMs: number): ProcessError {
  const ended = `Child ${JSON.stringify(child)} ended (${outcome.kind})`;
  return new ProcessError('SUPERVISOR_INTENSITY', `${ended} after ${intensity} restarts within ${periodMs} ms.`, {
    facts: { child, pid, outcome: outcome.kind, intensity, periodMs, ...reasonOf(outcome) },
    hint: 'Find out why its children fail, or allow more restarts within the period.',
  });
}

function reasonOf({ reason }: ProcessResult['outcome']): { reason?: string } {
  return reason === undefined ? {} : { reason };
}

/** Keeps the code of the refusal, and says which child it is about. */
function notStarted(child: string, error: unknown): unknown {
  if (!(error instanceof KernelError)) return error;
  const { code, message, facts, hint, retryable } = error;
  const told = `Child ${JSON.stringify(child)} could not be started: ${message}`;
  return new KernelError(code, told, { facts: { ...facts, child }, hint, retryable, cause: error });
}
