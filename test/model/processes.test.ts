import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createKernel, type Kernel, KernelError, type SignalReport } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, tempFolder } from '../support/kernel.js';
import { worker } from '../support/kernel-fixture.js';
import { type ModelProcess, ProcessModel } from '../support/process-model.js';
import { runsOnStore } from '../support/seeded.js';

/** The kernel under test; `reopen` closes it and opens another one on the same file. */
class Subject {
  private constructor(
    readonly path: string,
    private readonly workspace: string,
    public kernel: Kernel,
  ) {}

  static async open(): Promise<Subject> {
    const [path, workspace] = [await newStore(), tempFolder()];
    return new Subject(path, workspace, await open(path, workspace));
  }

  async reopen(): Promise<void> {
    await this.kernel.shutdown();
    this.kernel = await open(this.path, this.workspace);
  }
}

function open(store: string, workspace: string): Promise<Kernel> {
  return createKernel({
    logger: 'silent',
    store,
    workspace,
    durability: 'normal',
    node: { executor: false },
    images: [worker],
  });
}

type Command = fc.AsyncCommand<ProcessModel, Subject>;

/** A command on the process that `pick` points at; runs whenever there is a process at all. */
abstract class OnProcess implements Command {
  constructor(
    protected readonly pick: number,
    private readonly shown: string,
  ) {}

  check(model: Readonly<ProcessModel>): boolean {
    return model.processes.length > 0;
  }

  async run(model: ProcessModel, { kernel }: Subject): Promise<void> {
    const process = model.processes[this.pick % model.processes.length];
    if (process === undefined) return;
    await this.act(model, kernel, process);
    await expectAgreement(model, kernel, process);
  }

  abstract act(model: ProcessModel, kernel: Kernel, process: ModelProcess): Promise<void>;

  toString(): string {
    return `${this.shown}(#${this.pick})`;
  }
}

interface SpawnChoice {
  readonly limits: ModelProcess['limits'];
  readonly onParentExit: ModelProcess['onParentExit'];
  readonly agent: boolean;
}

function specOf({ limits, onParentExit, agent }: SpawnChoice) {
  return { budget: limits, onParentExit, image: agent ? 'worker' : 'base' };
}

function newModelProcess(
  pid: string,
  parent: ModelProcess | null,
  choice: SpawnChoice,
  agent = choice.agent,
): ModelProcess {
  const { limits, onParentExit } = choice;
  const status = agent ? 'runnable' : 'created';
  return {
    pid,
    bornUnder: parent,
    parent,
    onParentExit,
    limits,
    status,
    begins: status,
    outcome: undefined,
    tokens: 0,
  };
}

class Spawn implements Command {
  constructor(private readonly choice: SpawnChoice) {}
  check = () => true;
  async run(model: ProcessModel, { kernel }: Subject): Promise<void> {
    const pid = await kernel.processes.spawn(specOf(this.choice));
    model.add(newModelProcess(pid, null, this.choice));
  }
  toString = () => `spawn(${JSON.stringify(this.choice)})`;
}

class SpawnBelow extends OnProcess {
  constructor(
    pick: number,
    private readonly choice: SpawnChoice,
    private readonly how: 'spawnChild' | 'fork',
  ) {
    super(pick, `${how} ${JSON.stringify(choice)}`);
  }
  async act(model: ProcessModel, kernel: Kernel, parent: ModelProcess): Promise<void> {
    const call = kernel.processes[this.how](parent.pid, specOf(this.choice));
    if (!model.isLive(parent)) return expectRefusal(call, 'PROCESS_TERMINATED');
    if (!model.canSpawn(parent)) return expectRefusal(call, 'BUDGET_EXCEEDED');
    model.add(newModelProcess(await call, parent, this.choice));
  }
}

class Exit extends OnProcess {
  constructor(
    pick: number,
    private readonly failed: boolean,
  ) {
    super(pick, failed ? 'fail' : 'exit');
  }
  async act(model: ProcessModel, kernel: Kernel, process: ModelProcess): Promise<void> {
    const call = kernel.processes.exit(process.pid, { failed: this.failed, result: process.pid });
    if (!model.isLive(process)) return expectRefusal(call, 'PROCESS_TERMINATED');
    await call;
    model.end([process], this.failed ? 'failed' : 'exited', this.failed ? 'failed' : 'completed');
  }
}

class End extends OnProcess {
  constructor(
    pick: number,
    private readonly signal: 'kill' | 'cancel',
    private readonly tree: boolean,
  ) {
    super(pick, `${signal}${tree ? '' : ' alone'}`);
  }
  async act(model: ProcessModel, kernel: Kernel, process: ModelProcess): Promise<void> {
    const report = await kernel.processes.signal(process.pid, this.signal, { tree: this.tree });
    const reached = this.tree ? model.liveTreeOf(process) : [process].filter((one) => model.isLive(one));
    expectReport(report, process, reached);
    model.end(reached, 'killed', this.signal === 'kill' ? 'killed' : 'cancelled');
  }
}

class Hold extends OnProcess {
  constructor(
    pick: number,
    private readonly signal: 'pause' | 'resume',
  ) {
    super(pick, signal);
  }
  async act(model: ProcessModel, kernel: Kernel, process: ModelProcess): Promise<void> {
    const report = await kernel.processes[this.signal](process.pid);
    const isPause = this.signal === 'pause';
    const tree = model.liveTreeOf(process);
    const [reached, unchanged] = [true, false].map((isReached) =>
      tree.filter(({ status }) => (status === 'paused') !== (isPause === isReached)),
    ) as [ModelProcess[], ModelProcess[]];
    expectReport(report, process, reached);
    expect([...report.unchanged].sort()).toEqual(unchanged.map(({ pid }) => pid).sort());
    expect(report.refused).toEqual([]);
    for (const one of reached) one.status = isPause ? 'paused' : one.begins;
  }
}

class Exec extends OnProcess {
  constructor(
    pick: number,
    private readonly agent: boolean,
  ) {
    super(pick, `exec ${agent ? 'worker' : 'base'}`);
  }
  async act(model: ProcessModel, kernel: Kernel, process: ModelProcess): Promise<void> {
    const call = kernel.processes.exec(process.pid, { image: this.agent ? 'worker' : 'base' });
    if (!model.isLive(process)) return expectRefusal(call, 'PROCESS_TERMINATED');
    await call;
    process.begins = this.agent ? 'runnable' : 'created';
    if (process.status !== 'paused') process.status = process.begins;
  }
}

class Charge extends OnProcess {
  constructor(
    pick: number,
    private readonly tokens: number,
  ) {
    super(pick, `charge ${tokens}`);
  }
  async act(model: ProcessModel, kernel: Kernel, process: ModelProcess): Promise<void> {
    const call = kernel.processes.charge(process.pid, { tokens: this.tokens });
    if (!model.isLive(process)) return expectRefusal(call, 'PROCESS_TERMINATED');
    if (!model.canSpend(process, this.tokens)) return expectRefusal(call, 'BUDGET_EXCEEDED');
    await call;
    process.tokens += this.tokens;
  }
}

class Reserve extends OnProcess {
  constructor(
    pick: number,
    private readonly tokens: number,
  ) {
    super(pick, `reserve ${tokens}`);
  }
  async act(model: ProcessModel, kernel: Kernel, process: ModelProcess): Promise<void> {
    const call = kernel.processes.reserve(process.pid, { tokens: this.tokens });
    if (!model.isLive(process)) return expectRefusal(call, 'PROCESS_TERMINATED');
    if (!model.canSpend(process, this.tokens)) return expectRefusal(call, 'BUDGET_EXCEEDED');
    model.reservations.push({ id: await call, process, tokens: this.tokens });
  }
}

class Settle implements Command {
  constructor(
    private readonly pick: number,
    private readonly tokens: number,
  ) {}
  check = (model: Readonly<ProcessModel>) => model.reservations.length > 0;
  async run(model: ProcessModel, { kernel }: Subject): Promise<void> {
    const held = model.reservations[this.pick % model.reservations.length];
    if (held === undefined) return;
    await kernel.processes.settle(held.id, { tokens: this.tokens });
    model.reservations = model.reservations.filter((other) => other !== held);
    held.process.tokens += this.tokens;
    await expectRefusal(kernel.processes.settle(held.id, {}), 'NO_SUCH_RESERVATION');
    await expectAgreement(model, kernel, held.process);
  }
  toString = () => `settle(#${this.pick}, ${this.tokens})`;
}

class Reopen implements Command {
  check = () => true;
  run = (_model: ProcessModel, subject: Subject) => subject.reopen();
  toString = () => 'reopen()';
}

async function expectRefusal(call: Promise<unknown>, code: string): Promise<void> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error instanceof KernelError ? error.code : error).toBe(code);
}

function expectReport(report: SignalReport, process: ModelProcess, reached: readonly ModelProcess[]): void {
  const pids = (all: readonly ModelProcess[]) => all.map(({ pid }) => pid).sort();
  expect([...report.delivered].sort()).toEqual(pids(reached));
  const isOver = process.status !== 'created' && process.status !== 'runnable' && process.status !== 'paused';
  expect(report.alreadyTerminal).toEqual(isOver ? [process.pid] : []);
}

/** Compares one process with the model. */
async function expectAgreement(model: ProcessModel, kernel: Kernel, process: ModelProcess): Promise<void> {
  const { status, parent, bornUnder, root, outcome, depth } = await kernel.processes.get(process.pid);
  expect({ status, bornUnder, outcome: outcome?.kind, depth }).toEqual({
    status: process.status,
    bornUnder: process.bornUnder?.pid ?? null,
    outcome: process.outcome,
    depth: model.pathOf(process).length - 1,
  });
  const { tokens, children } = await kernel.processes.budget(process.pid);
  expect([tokens.used, tokens.reserved, children.used]).toEqual([
    model.usedBy(process),
    model.reservedBy(process),
    model.liveDescendantsOf(process),
  ]);
  if (!model.isLive(process)) return;
  expect([parent, root]).toEqual([process.parent?.pid ?? null, model.rootOf(process).pid]);
}

const pick = fc.nat({ max: 30 });
const tokens = fc.nat({ max: 12 });
const limit = fc.option(fc.nat({ max: 30 }), { nil: undefined, freq: 2 });
const few = fc.option(fc.nat({ max: 6 }), { nil: undefined, freq: 2 });
const choices: fc.Arbitrary<SpawnChoice> = fc.record({
  limits: fc.record({ tokens: limit, children: few, depth: few }).map(withoutUndefined),
  onParentExit: fc.constantFrom('cancel', 'reparent', 'detach'),
  agent: fc.boolean(),
});

function withoutUndefined(limits: Record<string, number | undefined>): ModelProcess['limits'] {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
}

const spawnChoice = fc
  .tuple(pick, choices, fc.constantFrom('spawnChild' as const, 'fork' as const))
  .map(([at, choice, how]) => new SpawnBelow(at, choice, how));

const commands: fc.Arbitrary<Command>[] = [
  choices.map((choice) => new Spawn(choice)),
  spawnChoice,
  spawnChoice,
  spawnChoice,
  fc.tuple(pick, fc.boolean()).map(([at, failed]) => new Exit(at, failed)),
  fc
    .tuple(pick, fc.constantFrom('kill' as const, 'cancel' as const), fc.boolean())
    .map(([at, signal, tree]) => new End(at, signal, tree)),
  fc.tuple(pick, fc.constantFrom('pause' as const, 'resume' as const)).map(([at, signal]) => new Hold(at, signal)),
  fc.tuple(pick, fc.boolean()).map(([at, agent]) => new Exec(at, agent)),
  fc.tuple(pick, tokens).map(([at, amount]) => new Charge(at, amount)),
  fc.tuple(pick, tokens).map(([at, amount]) => new Reserve(at, amount)),
  fc.tuple(pick, tokens).map(([at, amount]) => new Settle(at, amount)),
  fc.constant(new Reopen()),
];

async function checkModel(parameters: fc.Parameters<[Iterable<Command>]>): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.commands(commands, { maxCommands: 60, size: 'max' }), async (script) => {
      const subject = await Subject.open();
      const model = new ProcessModel();
      try {
        await fc.asyncModelRun(() => ({ model, real: subject }), script);
        for (const process of model.processes) await expectAgreement(model, subject.kernel, process);
        await checkInvariants(subject.kernel, subject.path);
      } finally {
        await subject.kernel.shutdown();
      }
    }),
    parameters,
  );
}

it('does with processes and budgets what a small model of them does', () =>
  checkModel({ numRuns: runsOnStore(25), seed: 20_250_101 }));

const sweepMs = Number(process.env.PROCURA_SWEEP_MS ?? 0);
it.runIf(sweepMs > 0)(
  'does so for scripts that nobody has seen, for as long as PROCURA_SWEEP_MS says',
  () => checkModel({ numRuns: 1_000_000, interruptAfterTimeLimit: sweepMs, markInterruptAsFailure: false }),
  sweepMs + 60_000,
);
