import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { prepareSchema, takeSchema } from '../../base/schema/answer-schema.js';
import { validate } from '../../base/schema/schema.js';
import { amount, parseSpec } from '../../base/spec.js';
import type { ProcessCapabilities } from '../../capability/process-capabilities.js';
import type { CommandResult, CommandSpec } from '../../kernel/command/command.js';
import { CommandRuns } from '../../kernel/command/command-ports.js';
import type { ProcessFace } from '../../kernel/face/process-face.js';
import type { ChildSpec, WaitOptions } from '../../kernel/face/process-specs.js';
import type { ProcessSyscalls, SharedSyscalls, TargetSyscalls } from '../../kernel/face/process-syscalls.js';
import type { ProcessTools } from '../../kernel/face/process-tools.js';
import type { Message, ReceiveOptions } from '../../kernel/message/message.js';
import { withValidBody } from '../../kernel/message/message-schema.js';
import { exitValueOf } from '../../kernel/process/exit-value.js';
import type { ProcessResult } from '../../kernel/process/process.js';
import type { SignalReport } from '../../kernel/signal/signal.js';
import { Ask, validAnswer } from '../../kernel/syscalls/ask.js';
import { Renew } from '../../kernel/syscalls/renew.js';
import { WaitSignal } from '../../kernel/syscalls/wait-signal.js';
import type { ObjectHandle } from '../../memory/object/object.js';
import type { ProcessMemory } from '../../memory/object-memory.js';
import type { ProcessCaller } from '../../unit/caller.js';
import { type NamedFace, type OwnFace, sealFaces } from '../../unit/faces.js';
import { type AgentTurns, BodyTurns } from '../agent/body-turns.js';
import { type StepOptions, Steps } from '../step/steps.js';
import { BodyCalls, dataAnswer, messageAnswer, noAnswer, resultAnswer, resultsAnswer } from './body-calls.js';
import { BodyLogs } from './body-logs.js';
import type { Syscalls } from './body-syscalls.js';
import { journalledCapabilities, journalledMemory } from './journalled-faces.js';
import {
  type BodyCall,
  firstArgument,
  type Journalling,
  type Journallings,
  journalled,
  journalledAfter,
  journalledData,
  journalledWait,
  live,
  remainingOptions,
} from './journalling.js';
import { Patches } from './patches.js';
import { ProgressReports } from './progress-reports.js';
import { ReplayJournal } from './replay-journal.js';
import type { Run } from './run.js';
import { RunEnded } from './run-errors.js';
import { RunTools } from './run-tools.js';
import { Sleeps } from './sleeps.js';
import { type DeclaredEvents, UserEvents } from './user-events.js';

const noEvents: DeclaredEvents = new Map();

/** Makes the `ctx` of runs. */
@injectable()
export class BodyContexts {
  constructor(
    @inject(BodyCalls) readonly calls: BodyCalls,
    @inject(Steps) readonly steps: Steps,
    @inject(Sleeps) readonly sleeps: Sleeps,
    @inject(ReplayJournal) readonly journal: ReplayJournal,
    @inject(ProgressReports) readonly progressReports: ProgressReports,
    @inject(BodyLogs) readonly logs: BodyLogs,
    @inject(WaitSignal) readonly waitSignal: WaitSignal,
    @inject(RunTools) readonly runTools: RunTools,
    @inject(CommandRuns) readonly commandRuns: CommandRuns,
    @inject(UserEvents) readonly userEvents: UserEvents,
    @inject(Patches) readonly patches: Patches,
    @inject(Ask) readonly ask: Ask,
    @inject(Renew) readonly renewal: Renew,
    @inject(BodyTurns) readonly turns: BodyTurns,
  ) {}

  /** `events`: those that the image of the run declares. */
  of(run: Run, events: DeclaredEvents = noEvents): Syscalls {
    return new BodyContext(run, this, events) as object as Syscalls;
  }
}

type ProcessCalls = OwnFace<SharedSyscalls> & NamedFace<TargetSyscalls> & OwnFace<ProcessSyscalls>;

const wait: Journalling<[child: Pid, options?: WaitOptions | undefined], ProcessResult> = journalledWait(
  firstArgument,
  resultAnswer,
  1,
);

const spawnChild: Journalling<[spec?: ChildSpec | undefined], Pid> = journalledData(imageNameOf);

function waitForChild(deps: BodyContexts, run: Run, pid: Pid, options: WaitOptions = {}): Promise<ProcessResult> {
  return wait(deps, { run, kind: 'wait', args: [pid, options], make: (face, args) => face.wait(...args) });
}

const receive: Journalling<[options?: ReceiveOptions | undefined], Message> = journalledWait(
  ([options]) => String(options?.from ?? ''),
  messageAnswer,
  0,
);

type ReceiveCall = BodyCall<[options?: ReceiveOptions | undefined], Message>;

function toReceive({ run, kind, args }: BodyCall<ReceiveCall['args'], unknown>): ReceiveCall {
  return { run, kind, args, make: (face, [options]) => face.receive(options) };
}

/** The message is journalled as it was sent, and every run validates it: the output of a schema may be no JSON. */
async function receiveValid(
  deps: BodyContexts,
  call: BodyCall<ReceiveCall['args'], unknown>,
): Promise<Message<unknown>> {
  const { schema, others } = takeSchema(call.args[0]);
  const plain = toReceive({ ...call, args: [others] });
  if (schema === undefined) return receive(deps, plain);
  const make: ReceiveCall['make'] = async (face, args) => {
    await prepareSchema(schema);
    return plain.make(face, args);
  };
  return withValidBody(await receive(deps, { ...plain, make }), schema);
}

function hasSchema(options: unknown): boolean {
  return typeof options === 'object' && options !== null && 'schema' in options;
}

/** The journalling of each syscall that a body makes. */
const journalling: Journallings<Omit<ProcessCalls, 'signal'>, BodyContexts> = {
  spawnChild,
  fork: journalledData(imageNameOf),
  exec: endRun,
  exit: endRun,
  wait,
  async value(deps, { run, args: [child, options] }) {
    return exitValueOf(await waitForChild(deps, run, child, options));
  },
  // Journalled as the two calls that it stands for.
  async call(deps, { run, args: [image, args, spec] }) {
    const child = await spawnChild(deps, {
      run,
      kind: 'spawnChild',
      args: [{ ...spec, image, ...(args === undefined ? {} : { args }) }],
      make: (face, [childSpec]) => face.spawnChild(childSpec),
    });
    return exitValueOf(await waitForChild(deps, run, child));
  },
  waitAny: journalledWait(unnamed, resultAnswer, 1),
  waitAll: journalledWait(unnamed, resultsAnswer, 1),
  children: live(),
  async chdir(deps, call) {
    call.run.cwd = await journalledData<[path: string], string>(unnamed)(deps, call);
    return call.run.cwd;
  },
  charge: journalledData(unnamed),
  reserve: journalledData(unnamed),
  budget: live(),
  pause: journalledData(firstArgument),
  resume: journalledData(firstArgument),
  cancel: journalledData(firstArgument),
  kill: journalledData(firstArgument),
  settle: journalledData(unnamed),
  readOutput: live(),
  waitOutput: live(),
  parent: journalledAfter(unnamed),
  get: live(),
  send: journalled(firstArgument, noAnswer),
  // Without a schema it goes on directly: thousands may wait, and each promise in between takes memory.
  receive: (deps, call) => (hasSchema(call.args[0]) ? receiveValid(deps, call) : receive(deps, toReceive(call))),
  // The question is found again by the key of the call, and the answer is validated in every run: the output may be no JSON.
  async ask(deps, { run, kind, args: [question, options] }) {
    const { schema } = takeSchema(options);
    const answer = await deps.calls.runJournalled(run, kind, '', dataAnswer<JsonValue>(), async (_, call, caller) => {
      const limited = await remainingOptions(deps, run, call, options);
      return deps.ask.askPlain(caller, run.pid, question, limited, run.identityOf(call));
    });
    return schema === undefined ? answer : validAnswer(schema, answer);
  },
  // The pid is journalled in the commit that creates the command, so that later runs wait for the same one.
  async run(deps, { run, kind, args: [spec] }) {
    const { calls, commandRuns: commands } = deps;
    const pid = await calls.runJournalled(run, kind, programOf(spec), dataAnswer<Pid>(), (_face, _call, caller) =>
      commands.begin(caller, spec),
    );
    if (spec.background === true) return { pid };
    const { value } = await waitForChild(deps, run, pid, { keep: false });
    // A recorded answer has the result in it, and the kernel that replays it does not know the command.
    return run.isReplayOnly ? (value as object as CommandResult) : commands.resultOf(pid);
  },
};

/** `signal` of `ctx` is the one that aborts. */
const sendSignal: Journalling<Parameters<ProcessFace['signal']>, SignalReport> = journalledData(firstArgument);

/** For calls by which a run ends itself. Throws RunEnded after the commit. */
async function endRun<Args extends readonly unknown[]>(
  deps: BodyContexts,
  { run, args, make }: BodyCall<Args, void>,
): Promise<never> {
  return makeLastCall(deps, run, (face) => make(face, args));
}

async function makeLastCall(
  { calls, progressReports: reports, logs }: BodyContexts,
  run: Run,
  make: (face: ProcessFace, caller: ProcessCaller) => Promise<void>,
): Promise<never> {
  reports.flush(run);
  await logs.settle(run);
  await calls.runLast(run, make);
  const ended = new RunEnded(run.pid);
  run.end(ended);
  throw ended;
}

/** Names a spawn in the journal by its image. */
function imageNameOf([spec]: readonly [spec?: ChildSpec | undefined]): string {
  const image: unknown = spec?.image;
  if (typeof image === 'string') return image;
  const name: unknown = Object.getOwnPropertyDescriptor(image ?? {}, 'name')?.value;
  return typeof name === 'string' ? name : '';
}

/**
 * Names a command in the journal by its program only: arguments may be secret. A spec is an object of the caller, and
 * getters in it are not called.
 */
function programOf(spec: CommandSpec): string {
  const argv: unknown = Object.getOwnPropertyDescriptor(spec ?? {}, 'argv')?.value;
  const program: unknown = Array.isArray(argv) ? Object.getOwnPropertyDescriptor(argv, 0)?.value : undefined;
  return typeof program === 'string' ? program : '';
}

function unnamed(): string {
  return '';
}

type Method = (...args: unknown[]) => Promise<unknown>;

/** The `ctx` of one run. Its methods are bound when they are read, so that they can be destructured. */
class BodyContext {
  #memory: ProcessMemory | undefined;
  #capabilities: ProcessCapabilities | undefined;
  readonly #run: Run;
  readonly #deps: BodyContexts;
  readonly #events: DeclaredEvents;

  constructor(run: Run, deps: BodyContexts, events: DeclaredEvents) {
    this.#run = run;
    this.#deps = deps;
    this.#events = events;
    Object.freeze(this);
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

  get state(): JsonValue | undefined {
    return structuredClone(this.#run.renewed?.state);
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
    this.#memory ??= journalledMemory(this.#deps, this.#run);
    return this.#memory;
  }

  get capabilities(): ProcessCapabilities {
    this.#capabilities ??= journalledCapabilities(this.#deps, this.#run);
    return this.#capabilities;
  }

  get tools(): ProcessTools {
    return this.#deps.runTools.of(this.#run);
  }

  get turns(): AgentTurns {
    return this.#deps.turns.of(this.#run);
  }

  get renew(): Syscalls['renew'] {
    const deps = this.#deps;
    const run = this.#run;
    return async (state) => makeLastCall(deps, run, (_face, caller) => deps.renewal.run(caller, run.pid, state));
  }

  get step(): Syscalls['step'] {
    return async <T>(name: string, work: () => T | Promise<T>, options?: StepOptions) =>
      (await this.#deps.steps.run(this.#run, name, work, options)) as T;
  }

  get sleep(): Syscalls['sleep'] {
    return async (duration) => {
      const { calls, journal, sleeps } = this.#deps;
      const run = this.#run;
      const ms = parseSpec(amount, duration, 'ms');
      await calls.replayOrRun(run, 'sleep', '', noAnswer, async (call) => {
        await sleeps.sleepUntil(run, call, await journal.fixDueTime(run, call, ms));
        await journal.commit(run, call, 'call.end', (tx, act) => journal.recordAnswer(tx, act, run, call, true));
      });
    };
  }

  get emit(): Syscalls['emit'] {
    return (name, data = {}) => this.#deps.userEvents.emit(this.#run, this.#events, name, data);
  }

  get patched(): Syscalls['patched'] {
    return async (name) => this.#deps.patches.isPatched(this.#run, name);
  }

  get progress(): Syscalls['progress'] {
    return (done, total, text) => this.#deps.progressReports.report(this.#run, { done, total, text });
  }

  get log(): Syscalls['log'] {
    return (text, facts) => this.#deps.logs.log(this.#run, text, facts);
  }

  get sendSignal(): Syscalls['sendSignal'] {
    const deps = this.#deps;
    const run = this.#run;
    return (...args) =>
      sendSignal(deps, {
        run,
        kind: 'sendSignal',
        args,
        make: (face, [pid, name, options]) => face.signal(pid, name, options),
      });
  }

  get waitSignal(): Syscalls['waitSignal'] {
    const deps = this.#deps;
    const run = this.#run;
    const waitSignal = async (name: string, options: WaitOptions = {}): Promise<unknown> => {
      const { schema, others } = takeSchema(options);
      const codec = dataAnswer<JsonValue>();
      const payload = await deps.calls.runJournalled(
        run,
        'waitSignal',
        String(name),
        codec,
        async (_, call, caller) => {
          if (schema !== undefined) await prepareSchema(schema);
          return deps.waitSignal.run(caller, run.pid, name, await remainingOptions(deps, run, call, others));
        },
      );
      if (schema === undefined) return payload;
      const hint = 'The signal was received. Handle the error, or have the sender send what fits the schema.';
      const facts = { pid: run.pid, signal: String(name) };
      return validate(schema, structuredClone(payload), { path: 'signal.payload', hint, facts });
    };
    return waitSignal as Syscalls['waitSignal'];
  }

  static {
    for (const name of Object.keys(journalling) as (keyof typeof journalling)[]) {
      const make = (face: ProcessFace, args: readonly unknown[]) => (face[name] as Method)(...args);
      const get = function (this: BodyContext): Method {
        const run = this.#run;
        const deps = this.#deps;
        const call = journalling[name] as (deps: BodyContexts, call: BodyCall<unknown[], unknown>) => Promise<unknown>;
        return (...args) => call(deps, { run, kind: name, args, make });
      };
      Object.defineProperty(BodyContext.prototype, name, { get, enumerable: true });
    }
    sealFaces(BodyContext);
  }
}
