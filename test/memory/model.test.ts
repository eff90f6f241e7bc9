import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createKernel, type Kernel, KernelError } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, tempFolder } from '../support/kernel.js';
import { worker } from '../support/kernel-fixture.js';
import { type ForkMode, MemoryModel, type ModelObject, type ModelProcess } from '../support/memory/memory-model.js';
import { isSweep, runsOnStore, seeded } from '../support/seeded.js';

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

type Command = fc.AsyncCommand<MemoryModel, Subject>;

/** The subjects of a command, a process, another process and an object, each as an index into a list of the model. */
interface Choice {
  /** Chooses among all subjects, instead of those for which the command is likely to succeed. */
  readonly isWild: boolean;
  readonly process: number;
  readonly other: number;
  readonly object: number;
}

interface Subjects {
  readonly process: ModelProcess;
  readonly other: ModelProcess;
  readonly object: ModelObject;
}

/** A command by a live or ended process. Afterwards the process sees what the model predicts. */
class ByProcess implements Command {
  constructor(
    private readonly name: string,
    private readonly choice: Choice,
    private readonly act: (model: MemoryModel, kernel: Kernel, subjects: Subjects) => Promise<void>,
  ) {}

  check = () => true;

  async run(model: MemoryModel, { kernel }: Subject): Promise<void> {
    const { isWild } = this.choice;
    const live = model.processes.filter((one) => isWild || one.isLive);
    const process = pick(live.length === 0 ? model.processes : live, this.choice.process);
    const other = pick(model.processes, this.choice.other);
    const usable = model.objects.filter((one) => isWild || (!one.isImmutable && model.canRead(process, one)));
    const object = pick(usable.length === 0 ? model.objects : usable, this.choice.object);
    await this.act(model, kernel, { process, other, object });
    await agrees(model, kernel, process);
  }

  toString(): string {
    const { isWild, process, other, object } = this.choice;
    return `${this.name}(${isWild ? 'any ' : ''}#${process}, #${other}, object ${object})`;
  }
}

async function spawnProcess(
  model: MemoryModel,
  kernel: Kernel,
  parent: ModelProcess,
  mode: ForkMode | null,
  reparented: boolean,
) {
  const spec = { image: 'worker', onParentExit: reparented ? 'reparent' : 'cancel' } as const;
  const { processes } = kernel;
  const call = mode === null ? processes.spawnChild(parent.pid, spec) : processes.fork(parent.pid, { ...spec, mode });
  if (!parent.isLive) return expectCode(call, 'PROCESS_TERMINATED');
  const pid = await call;
  model.addProcess(pid, (await processes.get(pid)).goal, parent, mode, reparented);
}

async function create(model: MemoryModel, kernel: Kernel, process: ModelProcess, payload: number, immutable: boolean) {
  // Some are in a namespace below the process's own, which makes no difference.
  const place = payload === 2 ? { namespace: `process/${process.pid}/some/place` } : {};
  const call = kernel.memory.create(process.pid, { type: 'claim', payload, immutable, ...place });
  if (!process.isLive) return expectCode(call, 'CAPABILITY_DENIED');
  model.addObject(process, (await call).id, immutable, payload);
}

async function update(model: MemoryModel, kernel: Kernel, { process, object }: Subjects, payload: number) {
  const call = kernel.memory.update(process.pid, object.id, payload);
  if (!process.isLive || !model.canWrite(process, object)) return expectCode(call, 'NO_SUCH_OBJECT');
  if (object.isImmutable) return expectCode(call, 'IMMUTABLE');
  await call;
  model.update(process, object, payload);
}

async function remove(model: MemoryModel, kernel: Kernel, { process, object }: Subjects) {
  const call = kernel.memory.delete(process.pid, object.id);
  if (!process.isLive || !model.canDelete(process, object)) return expectCode(call, 'NO_SUCH_OBJECT');
  await call;
  object.isDeleted = true;
}

async function addToView(model: MemoryModel, kernel: Kernel, { process, object }: Subjects) {
  const call = kernel.memory.addToView(process.pid, object.id);
  if (!process.isLive || !model.canRead(process, object)) return expectCode(call, 'NO_SUCH_OBJECT');
  await call;
  model.add(process, object);
}

async function removeFromView(model: MemoryModel, kernel: Kernel, { process, object }: Subjects) {
  const call = kernel.memory.removeFromView(process.pid, object.id);
  if (!process.isLive) return expectCode(call, 'PROCESS_TERMINATED');
  await call;
  model.remove(process, object);
}

async function exit(model: MemoryModel, kernel: Kernel, process: ModelProcess, failed: boolean, value?: number) {
  // The end of the root ends almost everything, so it is left to the end of a script.
  if (process === model.processes[0] && model.processes.length < 8) return;
  const call = kernel.processes.exit(process.pid, { failed, ...(value === undefined ? {} : { result: value }) });
  if (!process.isLive) return expectCode(call, 'PROCESS_TERMINATED');
  await call;
  const { result } = await kernel.processes.result(process.pid);
  if (value !== undefined) process.result = model.addObject(process, result?.id ?? '', true, value, 'result');
  model.end(process, !failed);
}

async function merge(
  model: MemoryModel,
  kernel: Kernel,
  { process, other }: Pick<Subjects, 'process' | 'other'>,
  policy: 'fail' | 'ours' | 'theirs',
) {
  const call = kernel.memory.merge(process.pid, other.pid, policy);
  const expected = model.merge(process, other, policy);
  if ('code' in expected) return expectCode(call, expected.code);
  const { merged, adopted, skipped, conflicts } = await call;
  const told = { merged, adopted, skipped, conflicts: conflicts.map(({ object }) => object) };
  expect(sortLists(told)).toEqual(sortLists(expected));
}

class Sweep implements Command {
  check = () => true;
  async run(model: MemoryModel, { kernel }: Subject): Promise<void> {
    await kernel.memory.sweep();
    expect(await kernel.memory.sweep()).toEqual({ reclaimed: 0 });
    await expectAllAgree(model, kernel);
  }
  toString = () => 'sweep()';
}

class Reopen implements Command {
  check = () => true;
  async run(model: MemoryModel, subject: Subject): Promise<void> {
    await subject.reopen();
    await expectAllAgree(model, subject.kernel);
  }
  toString = () => 'reopen()';
}

async function expectCode(call: Promise<unknown>, code: string): Promise<void> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error instanceof KernelError ? error.code : error).toBe(code);
}

/** Compares every object ever created with the model, as this process sees it: payload, history, or a refusal. */
async function agrees(model: MemoryModel, kernel: Kernel, process: ModelProcess): Promise<void> {
  if (!process.isLive) return;
  const { pid } = process;
  const found: unknown[] = [];
  for (const { id } of model.objects) {
    const versions = await resultOrCode(kernel.memory.history(pid, id));
    if (typeof versions === 'string') found.push([id, versions]);
    else {
      const reads = versions.map(({ version }) => kernel.memory.read(pid, id, { version }));
      const all = (await Promise.all(reads)).map(toModelVersion);
      found.push([id, all, isDeepStrictEqual(all.at(-1), toModelVersion(await kernel.memory.read(pid, id)))]);
    }
  }
  expect(found).toEqual(
    model.objects.map((object) => {
      const versions = model.versionsSeenBy(process, object);
      return model.canRead(process, object) ? [object.id, versions, true] : [object.id, 'NO_SUCH_OBJECT'];
    }),
  );
  const inView = model.inView(process).map(({ id }) => id);
  expect((await kernel.memory.view(pid)).roots.map(({ id }) => id).sort()).toEqual(inView.sort());
}

/** A version in the model's form, in which the payload of a goal is 0. */
function toModelVersion({ version, payload }: { readonly version: number; readonly payload: unknown }) {
  return { version, payload: typeof payload === 'number' ? payload : 0 };
}

async function expectAllAgree(model: MemoryModel, kernel: Kernel): Promise<void> {
  for (const process of model.processes) {
    await agrees(model, kernel, process);
    if (!process.isLive) continue;
    const inView = model.inView(process).map(({ id }) => id);
    const { items } = await kernel.memory.query(process.pid);
    const { manifest } = await kernel.memory.materialize(process.pid, { tokensMax: 1_000_000 });
    const included = manifest.filter((one) => one.included).map(({ object }) => object);
    expect([items.map(({ id }) => id).sort(), included.sort()]).toEqual([inView.sort(), inView.sort()]);
  }
}

async function resultOrCode<T>(call: Promise<T>): Promise<T | string> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof KernelError)) throw error;
    return error.code;
  }
}

function sortLists(lists: Record<string, readonly (string | object)[]>) {
  return Object.entries(lists).map(([name, all]) => [name, all.map((one) => JSON.stringify(one)).sort()]);
}

function pick<T>(all: readonly T[], index: number): T {
  const found = all[index % all.length];
  if (found === undefined) throw new Error('there is nothing yet');
  return found;
}

const choice = fc.record({
  isWild: fc.integer({ min: 0, max: 7 }).map((one) => one === 0),
  process: fc.nat({ max: 9 }),
  other: fc.nat({ max: 9 }),
  object: fc.nat({ max: 19 }),
});
const payload = fc.integer({ min: 1, max: 3 });
const mode = fc.constantFrom<ForkMode | null>('copy', 'copy', 'speculative', 'worker', 'restricted', null);
const policy = fc.constantFrom('fail' as const, 'ours' as const, 'theirs' as const);

function commandBy<T>(
  name: string,
  how: fc.Arbitrary<T>,
  act: (model: MemoryModel, kernel: Kernel, subjects: Subjects, how: T) => Promise<void>,
): fc.Arbitrary<Command> {
  return fc.tuple(choice, how).map(([chosen, what]) => {
    return new ByProcess(`${name} ${JSON.stringify(what)}`, chosen, (...given) => act(...given, what));
  });
}

const spawning = commandBy('bear', fc.tuple(mode, fc.boolean()), (model, kernel, { process }, [how, reparented]) =>
  spawnProcess(model, kernel, process, how, reparented),
);
const creating = commandBy(
  'create',
  fc.tuple(payload, fc.boolean()),
  (model, kernel, { process }, [value, immutable]) => create(model, kernel, process, value, immutable && value === 1),
);
const updating = commandBy('update', payload, (model, kernel, subjects, value) =>
  update(model, kernel, subjects, value),
);
const merging = commandBy('merge', policy, (model, kernel, subjects, how) => merge(model, kernel, subjects, how));
const mergingAll = commandBy('merge all', policy, async (model, kernel, { process }, how) => {
  const ended = model.processes.filter((one) => one.parent === process && !one.isLive && !one.isMerged);
  for (const other of ended) await merge(model, kernel, { process, other }, how);
});

const commands: fc.Arbitrary<Command>[] = [
  spawning,
  spawning,
  creating,
  updating,
  updating,
  updating,
  mergingAll,
  mergingAll,
  merging,
  commandBy(
    'exit',
    fc.tuple(fc.boolean(), fc.option(payload, { nil: undefined })),
    (model, kernel, { process }, [ok, value]) => exit(model, kernel, process, !ok, value),
  ),
  commandBy('add', fc.constant(0), (model, kernel, subjects) => addToView(model, kernel, subjects)),
  commandBy('remove', fc.constant(0), (model, kernel, subjects) => removeFromView(model, kernel, subjects)),
  commandBy('delete', fc.constant(0), (model, kernel, subjects) => remove(model, kernel, subjects)),
  fc.constant(new Sweep()),
  fc.constant(new Reopen()),
];

async function check(parameters: fc.Parameters<[Iterable<Command>]>): Promise<void> {
  await fc.assert(
    fc.asyncProperty(fc.commands(commands, { maxCommands: 60, size: 'max' }), async (script) => {
      const subject = await Subject.open();
      const model = new MemoryModel();
      try {
        const pid = await subject.kernel.processes.spawn({ image: 'worker' });
        model.addProcess(pid, (await subject.kernel.processes.get(pid)).goal, null, null, false);
        await fc.asyncModelRun(() => ({ model, real: subject }), script);
        await expectAllAgree(model, subject.kernel);
        await checkInvariants(subject.kernel, subject.path);
      } finally {
        await subject.kernel.shutdown();
      }
    }),
    parameters,
  );
}

it(
  'shows each process of memory what a small model of it shows',
  () => check({ numRuns: runsOnStore(isSweep ? 25 : 10), seed: 20_250_201 }),
  120_000,
);

const sweepMs = Number(process.env.PROCURA_SWEEP_MS ?? 0);
it.runIf(sweepMs > 0)(
  'does so for as many scripts as PROCURA_SWEEP_MS leaves time for, others with another PROCURA_SEED',
  () => check(seeded({ numRuns: 1_000_000, interruptAfterTimeLimit: sweepMs, markInterruptAsFailure: false })),
  sweepMs + 60_000,
);
