import { inject, injectable } from 'inversify';
import type { Pid, ReservationId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { amount, parseSpec } from '../../base/spec.js';
import type { ProcessCapabilities } from '../../capability/process-capabilities.js';
import type { BudgetReport } from '../../kernel/budget/budget.js';
import type { CommandSpec } from '../../kernel/command/command.js';
import { CommandRuns } from '../../kernel/command/command-runs.js';
import type { ProcessFace, RunCommand } from '../../kernel/face/process-face.js';
import type { ChildSpec, WaitOptions } from '../../kernel/face/process-manager.js';
import type { ProcessTools } from '../../kernel/face/process-tools.js';
import type { SignalReport } from '../../kernel/signal/signal.js';
import { WaitSignal } from '../../kernel/syscalls/wait-signal.js';
import type { ObjectHandle } from '../../memory/object/object-handle.js';
import type { ProcessMemory } from '../../memory/object-memory.js';
import type { ProcessCaller } from '../../unit/caller.js';
import { type StepOptions, Steps } from '../step/steps.js';
import type { OpenCall } from './call-tree.js';
import { Calls, message, nothing, plain, result, results } from './calls.js';
import { journalledCapabilities, journalledMemory } from './journalled-faces.js';
import { ProgressReports } from './progress-reports.js';
import { ReplayJournal } from './replay-journal.js';
import type { Run } from './run.js';
import { RunEnded } from './run-ended.js';
import { RunTools } from './run-tools.js';
import { Sleeps } from './sleeps.js';

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
  /** The n-th wait gets the n-th signal `user.NAME` that is sent to it. Throws WAIT_TIMEOUT, CANCELLED. */
  waitSignal(name: string, options?: WaitOptions): Promise<JsonValue>;
  sleep(ms: number): Promise<void>;
  /** Shown in the process table, at most a few times a second. */
  progress(done: number, total?: number, text?: string): void;
}

/** What the calls of bodies are made with. */
@injectable()
export class BodyContexts {
  constructor(
    @inject(Calls) readonly calls: Calls,
    @inject(Steps) readonly steps: Steps,
    @inject(Sleeps) readonly sleeps: Sleeps,
    @inject(ReplayJournal) readonly journal: ReplayJournal,
    @inject(ProgressReports) readonly reports: ProgressReports,
    @inject(WaitSignal) readonly signals: WaitSignal,
    @inject(RunTools) readonly tools: RunTools,
    @inject(CommandRuns) readonly commands: CommandRuns,
  ) {}

  of(run: Run): Syscalls {
    return new RunSyscalls(run, this);
  }
}

/**
 * The `ctx` of one run. Its calls can be taken out of it, and are made when they are asked for: a run that waits should
 * cost little.
 */
class RunSyscalls implements Syscalls {
  #memory: ProcessMemory | undefined;
  #capabilities: ProcessCapabilities | undefined;
  readonly #run: Run;
  readonly #kit: BodyContexts;

  constructor(run: Run, kit: BodyContexts) {
    this.#run = run;
    this.#kit = kit;
  }

  get pid(): Pid {
    return this.#run.pid;
  }

  get args(): JsonValue {
    return this.#run.args;
  }

  get goal(): ObjectHandle {
    return this.#run.goal;
  }

  get cwd(): string {
    return this.#run.cwd;
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }

  get attempt(): number {
    return this.#run.row.attempt;
  }

  get memory(): ProcessMemory {
    this.#memory ??= journalledMemory(this.#kit.calls, this.#run);
    return this.#memory;
  }

  get capabilities(): ProcessCapabilities {
    this.#capabilities ??= journalledCapabilities(this.#kit.calls, this.#run);
    return this.#capabilities;
  }

  get tools(): ProcessTools {
    return this.#kit.tools.of(this.#run);
  }

  get step(): Syscalls['step'] {
    return async <T>(name: string, work: () => T | Promise<T>, options?: StepOptions) =>
      (await this.#kit.steps.run(this.#run, name, work, options)) as T;
  }

  get sleep(): Syscalls['sleep'] {
    return async (given) => {
      const { calls, journal, sleeps } = this.#kit;
      const run = this.#run;
      const ms = parseSpec(amount, given, 'ms');
      await calls.answered(run, 'sleep', '', nothing, async (call) => {
        await sleeps.until(run, call, await journal.due(run, call, ms));
        await journal.unit(run, call, 'call.end', (tx, act) => journal.done(tx, act, run, call, true));
      });
    };
  }

  get progress(): Syscalls['progress'] {
    return (done, total, text) => this.#kit.reports.report(this.#run, { done, total, text });
  }

  get spawnChild(): Syscalls['spawnChild'] {
    return (spec = {}) =>
      this.#kit.calls.journalled(this.#run, 'spawnChild', nameOf(spec), plain(), (face) => face.spawnChild(spec));
  }

  get fork(): Syscalls['fork'] {
    return (spec = {}) =>
      this.#kit.calls.journalled(this.#run, 'fork', nameOf(spec), plain(), (face) => face.fork(spec));
  }

  get exec(): Syscalls['exec'] {
    return async (spec) => this.#last((face) => face.exec(spec));
  }

  get exit(): Syscalls['exit'] {
    return async (spec) => this.#last((face) => face.exit(spec));
  }

  get wait(): Syscalls['wait'] {
    return (child, options) =>
      this.#kit.calls.journalled(this.#run, 'wait', String(child), result, (face, call) =>
        this.#timed(call, options, (limits) => face.wait(child, limits)),
      );
  }

  get waitAny(): Syscalls['waitAny'] {
    return (children, options) =>
      this.#kit.calls.journalled(this.#run, 'waitAny', '', result, (face, call) =>
        this.#timed(call, options, (limits) => face.waitAny(children, limits)),
      );
  }

  get waitAll(): Syscalls['waitAll'] {
    return (children, options) =>
      this.#kit.calls.journalled(this.#run, 'waitAll', '', results, (face, call) =>
        this.#timed(call, options, (limits) => face.waitAll(children, limits)),
      );
  }

  get children(): Syscalls['children'] {
    return (filter) => this.#kit.calls.live(this.#run, (face) => face.children(filter));
  }

  /** The pid is kept in the commit of the birth: whichever run comes later waits for the same command. */
  get run(): Syscalls['run'] {
    const { calls, commands } = this.#kit;
    const run = async (spec: CommandSpec) => {
      const begin = (_face: ProcessFace, _call: OpenCall, caller: ProcessCaller) => commands.begin(caller, spec);
      const pid = await calls.journalled(this.#run, 'run', programOf(spec), plain<Pid>(), begin);
      if (spec.background === true) return { pid };
      await this.wait(pid);
      return commands.result(pid);
    };
    return run as RunCommand;
  }

  get readOutput(): Syscalls['readOutput'] {
    return (child, options) => this.#kit.calls.live(this.#run, (face) => face.readOutput(child, options));
  }

  get waitOutput(): Syscalls['waitOutput'] {
    return (child, pattern, options) =>
      this.#kit.calls.live(this.#run, (face) => face.waitOutput(child, pattern, options));
  }

  get kill(): Syscalls['kill'] {
    return (child, reason) => this.#signalled('kill', child, (face) => face.kill(child, reason));
  }

  get cancel(): Syscalls['cancel'] {
    return (child, reason, options) => this.#signalled('cancel', child, (face) => face.cancel(child, reason, options));
  }

  get pause(): Syscalls['pause'] {
    return (child) => this.#signalled('pause', child, (face) => face.pause(child));
  }

  get resume(): Syscalls['resume'] {
    return (child) => this.#signalled('resume', child, (face) => face.resume(child));
  }

  get chdir(): Syscalls['chdir'] {
    return async (path) => {
      const run = this.#run;
      run.cwd = await this.#kit.calls.journalled(run, 'chdir', '', plain<string>(), (face) => face.chdir(path));
      return run.cwd;
    };
  }

  get charge(): Syscalls['charge'] {
    return (usage) =>
      this.#kit.calls.journalled(this.#run, 'charge', '', plain<BudgetReport>(), (face) => face.charge(usage));
  }

  get reserve(): Syscalls['reserve'] {
    return (usage, options) =>
      this.#kit.calls.journalled(this.#run, 'reserve', '', plain<ReservationId>(), (face) =>
        face.reserve(usage, options),
      );
  }

  get settle(): Syscalls['settle'] {
    return (reservation, usage) =>
      this.#kit.calls.journalled(this.#run, 'settle', '', plain<BudgetReport>(), (face) =>
        face.settle(reservation, usage),
      );
  }

  get budget(): Syscalls['budget'] {
    return () => this.#kit.calls.live(this.#run, (face) => face.budget());
  }

  get send(): Syscalls['send'] {
    return (to, body) =>
      this.#kit.calls.journalled(this.#run, 'send', String(to), nothing, (face) => face.send(to, body));
  }

  get receive(): Syscalls['receive'] {
    return (options = {}) =>
      this.#kit.calls.journalled(this.#run, 'receive', String(options?.from ?? ''), message, (face, call) =>
        this.#timed(call, options, (limits) => face.receive(limits)),
      );
  }

  get waitSignal(): Syscalls['waitSignal'] {
    return (name, options = {}) =>
      this.#kit.calls.journalled(this.#run, 'waitSignal', String(name), plain<JsonValue>(), (_face, call, caller) =>
        this.#timed(call, options, (limits) => this.#kit.signals.run(caller, this.#run.pid, name, limits)),
      );
  }

  #signalled(name: string, child: Pid, send: (face: ProcessFace) => Promise<SignalReport>): Promise<SignalReport> {
    return this.#kit.calls.journalled(this.#run, name, String(child), plain<SignalReport>(), send);
  }

  /** Waits for no longer than is left of a limit which an earlier run may have begun. */
  #timed<Options extends WaitOptions, T>(
    call: OpenCall,
    given: Options | undefined,
    wait: (limits: Options | undefined) => Promise<T>,
  ): Promise<T> {
    const timeoutMs = given?.timeoutMs;
    if (given === undefined || timeoutMs === undefined || timeoutMs === 0) return wait(given);
    const { journal, sleeps } = this.#kit;
    const due = journal.due(this.#run, call, parseSpec(amount, timeoutMs, 'options.timeoutMs'));
    return due.then((at) => wait({ ...given, timeoutMs: sleeps.left(at) }));
  }

  /** The run is over with the commit of such a call. */
  async #last(live: (face: ProcessFace) => Promise<void>): Promise<never> {
    const run = this.#run;
    this.#kit.reports.flush(run);
    await this.#kit.calls.last(run, live);
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

/** Only the name of the program: arguments may be secret. A spec is a caller's object, and may refuse to be read. */
function programOf(spec: CommandSpec): string {
  const argv: unknown = Object.getOwnPropertyDescriptor(spec ?? {}, 'argv')?.value;
  const program: unknown = Array.isArray(argv) ? Object.getOwnPropertyDescriptor(argv, 0)?.value : undefined;
  return typeof program === 'string' ? program : '';
}
