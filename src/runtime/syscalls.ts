import { inject, injectable } from 'inversify';
import type { JsonValue } from '../base/json.js';
import { amount, parseSpec } from '../base/spec.js';
import type { ProcessFace } from '../kernel/process-face.js';
import type { ChildSpec, WaitOptions } from '../kernel/process-manager.js';
import type { SignalReport } from '../kernel/signal.js';
import type { ObjectHandle } from '../memory/object-handle.js';
import { Calls, nothing, plain, result, results } from './calls.js';
import { keptCapabilities, keptMemory } from './kept-faces.js';
import { ProgressReports } from './progress-reports.js';
import type { Run } from './run.js';
import { RunEnded } from './run-ended.js';
import { RunJournal } from './run-journal.js';
import { Sleeps } from './sleeps.js';
import { type StepOptions, Steps } from './steps.js';

/**
 * What the body of an image receives as `ctx`: the face of its process, journalled and fenced. A call that has been
 * answered is answered the same when the body is run again; reads alone are made anew.
 */
export interface Syscalls extends ProcessFace {
  readonly args: JsonValue;
  readonly goal: ObjectHandle;
  readonly cwd: string;
  /** Aborts when the process is stopped, when the node shuts down, and when this run does not count any more. */
  readonly signal: AbortSignal;
  /** Counts from 1; grows when a body failed and its retry policy starts it again. */
  readonly attempt: number;
  /** Runs `work` once: its result is committed before the promise resolves, and a rerun gets the stored one. */
  step<T>(name: string, work: () => T | Promise<T>, options?: StepOptions): Promise<T>;
  sleep(ms: number): Promise<void>;
  /** Shown in the process table, at most a few times a second. */
  progress(done: number, total?: number, text?: string): void;
}

/** Makes the `ctx` of runs. */
@injectable()
export class SyscallFaces {
  constructor(
    @inject(Calls) private readonly calls: Calls,
    @inject(Steps) private readonly steps: Steps,
    @inject(Sleeps) private readonly sleeps: Sleeps,
    @inject(RunJournal) private readonly journal: RunJournal,
    @inject(ProgressReports) private readonly reports: ProgressReports,
  ) {}

  of(run: Run): Syscalls {
    const { calls } = this;
    const { pid } = run;
    const signal = (name: 'kill' | 'cancel' | 'pause' | 'resume', child: string, reason?: string) =>
      calls.kept(run, name, String(child), plain<SignalReport>(), (face) => face[name](child, reason));
    return {
      pid,
      args: run.args,
      goal: run.goal,
      get cwd() {
        return run.cwd;
      },
      signal: run.signal,
      attempt: run.row.attempt,
      step: async <T>(name: string, work: () => T | Promise<T>, options?: StepOptions) =>
        (await this.steps.run(run, name, work, options)) as T,
      sleep: async (ms) => this.sleep(run, ms),
      progress: (done, total, text) => this.reports.report(run, { done, total, text }),
      spawnChild: async (spec = {}) =>
        calls.kept(run, 'spawnChild', nameOf(spec), plain(), (face) => face.spawnChild(spec)),
      fork: async (spec = {}) => calls.kept(run, 'fork', nameOf(spec), plain(), (face) => face.fork(spec)),
      exec: async (spec) => this.last(run, (face) => face.exec(spec)),
      exit: async (spec) => this.last(run, (face) => face.exit(spec)),
      wait: async (child, options) =>
        calls.kept(run, 'wait', String(child), result, async (face, call) =>
          face.wait(child, await this.timed(run, call, options)),
        ),
      waitAny: async (children, options) =>
        calls.kept(run, 'waitAny', '', result, async (face, call) =>
          face.waitAny(children, await this.timed(run, call, options)),
        ),
      waitAll: async (children, options) =>
        calls.kept(run, 'waitAll', '', results, async (face, call) =>
          face.waitAll(children, await this.timed(run, call, options)),
        ),
      kill: async (child, reason) => signal('kill', child, reason),
      cancel: async (child, reason) => signal('cancel', child, reason),
      pause: async (child) => signal('pause', child),
      resume: async (child) => signal('resume', child),
      chdir: async (path) => {
        run.cwd = await calls.kept(run, 'chdir', '', plain<string>(), (face) => face.chdir(path));
        return run.cwd;
      },
      memory: keptMemory(calls, run),
      capabilities: keptCapabilities(calls, run),
    };
  }

  private async sleep(run: Run, given: number): Promise<void> {
    const ms = parseSpec(amount, given, 'ms');
    await this.calls.answered(run, 'sleep', '', nothing, async (call) => {
      await this.sleeps.until(run, call, await this.journal.due(run, call, ms));
      await this.journal.unit(run, call, 'call.end', (tx, act) => this.journal.done(tx, act, run, call, true));
    });
  }

  /** The time that is left of a limit which an earlier run may have begun. */
  private async timed(
    run: Run,
    call: Parameters<RunJournal['due']>[1],
    given?: WaitOptions,
  ): Promise<WaitOptions | undefined> {
    const timeoutMs = given?.timeoutMs;
    if (timeoutMs === undefined || timeoutMs === 0) return given;
    const due = await this.journal.due(run, call, parseSpec(amount, timeoutMs, 'options.timeoutMs'));
    return { ...given, timeoutMs: this.sleeps.left(due) };
  }

  /** The run is over with the commit of such a call. */
  private async last(run: Run, live: (face: ProcessFace) => Promise<void>): Promise<never> {
    this.reports.flush(run);
    await this.calls.unkept(run, live);
    const ended = new RunEnded(run.pid);
    run.end(ended);
    throw ended;
  }
}

/** What a birth is called in the journal: by its image, which a body that goes the same way chooses again. */
function nameOf(spec: ChildSpec): string {
  const image: unknown = spec?.image;
  return typeof image === 'string' ? image : '';
}
