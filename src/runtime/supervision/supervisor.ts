import { inject, injectable } from 'inversify';
import { KernelError, ProcessError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import type { ChildSpec } from '../../kernel/face/process-specs.js';
import type { ProcessResult } from '../../kernel/process/process.js';
import { type Restart, Spawn } from '../../kernel/syscalls/spawn.js';
import { BodyCalls, dataAnswer } from '../run/body-calls.js';
import type { Syscalls } from '../run/body-syscalls.js';
import { ReplayJournal } from '../run/replay-journal.js';
import type { Run } from '../run/run.js';
import { RestartWindow } from './restart-window.js';
import type { SupervisedChild, Supervision } from './supervision.js';

/** Runs the bodies of supervisors, with two journalled calls that other bodies do not have. */
@injectable()
export class Supervisors {
  constructor(
    @inject(BodyCalls) private readonly calls: BodyCalls,
    @inject(ReplayJournal) private readonly journal: ReplayJournal,
    @inject(Spawn) private readonly spawn: Spawn,
  ) {}

  /** Resolves when no child is left, and none is to be restarted. Throws SUPERVISOR_INTENSITY, and what spawning throws. */
  run(run: Run, ctx: Syscalls, supervision: Supervision): Promise<void> {
    return new Supervisor(supervision, ctx, {
      now: () => this.now(run),
      restart: (spec, restart) => this.restart(run, spec, restart),
    }).run();
  }

  private now(run: Run): Promise<number> {
    return this.calls.replayOrRun(run, 'now', '', dataAnswer<number>(), (call) =>
      this.journal.commit(run, call, 'call.end', async (tx, act) => {
        await this.journal.recordAnswer(tx, act, run, call, act.at);
        return act.at;
      }),
    );
  }

  private restart(run: Run, spec: ChildSpec, restart: Restart): Promise<Pid> {
    return this.calls.runJournalled(run, 'restart', restart.child, dataAnswer<Pid>(), (_face, _call, caller) =>
      this.spawn.spawnChild(caller, run.pid, spec, restart),
    );
  }
}

/** Its children are restarted for as long as it lives: their results would fill its view. */
const unkept = { keep: false } as const;

interface SupervisorCalls {
  /** The time of the kernel; a rerun gets the same. */
  now(): Promise<number>;
  /** Spawns a child in place of one that has ended. The restart is recorded in the commit of the spawn. */
  restart(spec: ChildSpec, restart: Restart): Promise<Pid>;
}

/** One child of the plan, and the last process that was started for it. */
interface ChildState {
  readonly child: SupervisedChild;
  pid: Pid | undefined;
  isLive: boolean;
  restart: PendingRestart | undefined;
}

interface PendingRestart {
  readonly dueAt: number;
  readonly reason: string;
  /** The process whose end caused it. */
  readonly because: Pid;
  /** The reason of that end. */
  readonly detail: string | undefined;
}

/**
 * The body of one supervisor. All that it does is journalled, so that a rerun finds the same children and goes on with
 * them. When its process is stopped, the kernel stops the whole tree.
 */
class Supervisor {
  private readonly states: readonly ChildState[];
  private readonly window: RestartWindow;

  constructor(
    private readonly plan: Supervision,
    private readonly ctx: Syscalls,
    private readonly calls: SupervisorCalls,
  ) {
    this.states = plan.children.map((child) => ({ child, pid: undefined, isLive: false, restart: undefined }));
    this.window = new RestartWindow(plan);
  }

  async run(): Promise<void> {
    await this.start(this.states);
    for (;;) {
      const dueAt = this.nextDue();
      if (dueAt !== undefined) await this.waitForEndOrRestart(dueAt);
      else if (this.livePids().length > 0) await this.handleEnd(await this.ctx.waitAny(this.livePids(), unkept));
      else return;
    }
  }

  private async handleEnd(result: ProcessResult): Promise<void> {
    const { pid, status, outcome } = result;
    const ended = this.states.find((state) => state.pid === pid) as ChildState;
    ended.isLive = false;
    if (!isToRestart(ended.child, status)) return;
    const at = await this.calls.now();
    const delayMs = this.window.count(at);
    if (delayMs === undefined) return this.giveUp(ended, result);
    const affected = this.affectedBy(ended);
    await this.stop(affected, `${this.plan.strategy}: ${ended.child.name} ended (${outcome.kind})`);
    for (const state of affected) {
      if (state !== ended && state.child.restart === 'temporary') continue;
      const reason = state === ended ? outcome.kind : this.plan.strategy;
      state.restart = { dueAt: at + delayMs, reason, because: pid, detail: outcome.reason };
    }
    if (delayMs === 0) await this.startDue(at);
  }

  /** The children that are restarted together with this one. */
  private affectedBy(state: ChildState): readonly ChildState[] {
    switch (this.plan.strategy) {
      case 'one_for_one':
        return [state];
      case 'one_for_all':
        return this.states;
      case 'rest_for_one':
        return this.states.slice(this.states.indexOf(state));
    }
  }

  private async giveUp(state: ChildState, result: ProcessResult): Promise<never> {
    const { intensity, periodMs } = this.plan;
    await this.stop(this.states, `${state.child.name} failed too often`);
    throw intensityExceeded(state.child.name, result, intensity, periodMs);
  }

  /** Handles the end of another child, or starts what is due at `dueAt`, whichever comes first. */
  private async waitForEndOrRestart(dueAt: number): Promise<void> {
    const timeoutMs = dueAt - (await this.calls.now());
    const ended = timeoutMs > 0 ? await this.waitForEnd(timeoutMs) : undefined;
    if (ended !== undefined) await this.handleEnd(ended);
    else await this.startDue(dueAt);
  }

  private async waitForEnd(timeoutMs: number): Promise<ProcessResult | undefined> {
    const live = this.livePids();
    try {
      if (live.length > 0) return await this.ctx.waitAny(live, { timeoutMs, ...unkept });
      await this.ctx.sleep(timeoutMs);
      return undefined;
    } catch (error) {
      if (error instanceof ProcessError && error.code === 'WAIT_TIMEOUT') return undefined;
      throw error;
    }
  }

  private async startDue(now: number): Promise<void> {
    await this.start(this.states.filter(({ restart }) => restart !== undefined && restart.dueAt <= now));
  }

  /** Starts children from left to right. When one cannot be started, all children are stopped. */
  private async start(states: readonly ChildState[]): Promise<void> {
    for (const state of states) {
      try {
        state.pid = await this.spawn(state);
      } catch (error) {
        await this.stop(this.states, `${state.child.name} could not be started`);
        throw childNotStarted(state.child.name, error);
      }
      state.isLive = true;
      state.restart = undefined;
    }
  }

  private spawn({ child, pid, restart }: ChildState): Promise<Pid> {
    const { restart: _rule, shutdownMs: _shutdownMs, ...spec } = child;
    if (restart === undefined || pid === undefined) return this.ctx.spawnChild(spec);
    const { reason, because, detail } = restart;
    return this.calls.restart(spec, { child: child.name, instead: pid, reason, because, detail });
  }

  /** Stops children from right to left, each after the end of the one before; the kernel kills one whose time is over. */
  private async stop(states: readonly ChildState[], reason: string): Promise<void> {
    for (const state of states.toReversed()) {
      state.restart = undefined;
      if (!state.isLive || state.pid === undefined) continue;
      const { shutdownMs } = state.child;
      await this.ctx.cancel(state.pid, reason, shutdownMs === undefined ? {} : { graceMs: shutdownMs });
      await this.ctx.wait(state.pid, unkept);
      state.isLive = false;
    }
  }

  private livePids(): Pid[] {
    return this.states.flatMap(({ pid, isLive }) => (isLive && pid !== undefined ? [pid] : []));
  }

  private nextDue(): number | undefined {
    const due = this.states.flatMap(({ restart }) => (restart === undefined ? [] : [restart.dueAt]));
    return due.length === 0 ? undefined : Math.min(...due);
  }
}

function isToRestart({ restart }: SupervisedChild, status: ProcessResult['status']): boolean {
  switch (restart) {
    case 'permanent':
      return true;
    case 'transient':
      return status !== 'exited';
    case 'temporary':
      return false;
  }
}

function intensityExceeded(
  child: string,
  { pid, outcome }: ProcessResult,
  intensity: number,
  periodMs: number,
): ProcessError {
  const ended = `Child ${JSON.stringify(child)} ended (${outcome.kind})`;
  return new ProcessError('SUPERVISOR_INTENSITY', `${ended} after ${intensity} restarts within ${periodMs} ms.`, {
    facts: { child, pid, outcome: outcome.kind, intensity, periodMs, ...reasonOf(outcome) },
    hint: 'Find out why its children fail, or allow more restarts within the period.',
  });
}

function reasonOf({ reason }: ProcessResult['outcome']): { reason?: string } {
  return reason === undefined ? {} : { reason };
}

/** The same error code, with the name of the child. */
function childNotStarted(child: string, error: unknown): unknown {
  if (!(error instanceof KernelError)) return error;
  const { code, message, facts, hint, retryable } = error;
  const text = `Child ${JSON.stringify(child)} could not be started: ${message}`;
  return new KernelError(code, text, { facts: { ...facts, child }, hint, retryable, cause: error });
}
