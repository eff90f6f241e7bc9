import { setTimeout as sleep } from 'node:timers/promises';
import { ContainerModule } from 'inversify';
import {
  type Image,
  InputError,
  type JsonObject,
  type JsonValue,
  type Kernel,
  ProcessError,
  RecordedRun,
  type RecordedRunEnd,
  type Tool,
} from '../index.js';
import { historyFormat, type ProcessHistory } from './process-history.js';
import { RecordedIds } from './recorded-ids.js';
import { createTestKernel } from './test-kernel.js';

/** Options of `replay`. */
export interface ReplayOptions {
  /** The tools that bodies can list. They are not called. */
  readonly tools?: readonly Tool[];
  /** The longest time that the body may take, in real time; default 10,000. */
  readonly timeoutMs?: number;
}

/** A body that has made the recorded calls, in their order. */
export interface ReplayResult {
  /** A replay that differs throws instead. */
  readonly ok: true;
  /** The number of recorded calls that the body has made; not counted are lines that it logs. */
  readonly calls: number;
  /** Whether the body has ended. Otherwise it waits for a call that has no recorded answer, as a running process does. */
  readonly isComplete: boolean;
  /** The calls that it waits for, where it has not ended. */
  readonly nextCalls: readonly string[];
  /** The return value of the body. */
  readonly result?: JsonValue;
  /** The error that the body has thrown. */
  readonly error?: { readonly code: string; readonly message: string };
}

/**
 * Runs the body of an image against the recorded history of a process, in a kernel of its own in memory. Every call gets its
 * recorded answer: no step is run, no tool is called, nothing is sent. So it shows whether a changed image can go on with the
 * processes that an earlier one has begun.
 *
 * Throws NON_DETERMINISTIC when the body makes other calls than the recorded ones, or makes them in another order, with the facts
 * `expected`, `found` and `position`; WAIT_TIMEOUT for a body that neither ends nor makes a call; INVALID_INPUT.
 *
 * @example
 * const history = JSON.parse(await readFile('order.history.json', 'utf8'));
 * assert.equal((await replay(history, orderImage)).isComplete, true);
 */
export async function replay(
  history: ProcessHistory,
  image: Image,
  options: ReplayOptions = {},
): Promise<ReplayResult> {
  checkHistory(history, image);
  const { tools = [], timeoutMs = 10_000 } = options;
  const watch = new ReplayWatch(history);
  const ids = new RecordedIds();
  const module = new ContainerModule(({ bind }) => {
    bind(RecordedRun).toConstantValue(watch);
  });
  const kernel = await createTestKernel({
    ids,
    tools,
    images: [withoutConditions(image, tools.length > 0)],
    modules: [module],
    node: { start: false },
  });
  try {
    await restore(kernel, history, image, ids);
    await kernel.start();
    const end = await watch.untilSettled(timeoutMs);
    return await toResult(kernel, history, watch, end);
  } finally {
    await kernel.shutdown({ graceMs: 0 });
  }
}

function checkHistory(history: ProcessHistory, image: Image): void {
  if (history?.format !== historyFormat || !Array.isArray(history.calls)) {
    throw new InputError('INVALID_INPUT', 'history: is not a history of this format.', {
      facts: { path: 'history', problem: 'is not a history of this format', format: historyFormat },
      hint: 'Give what historyOf(kernel, pid) has given, or the same read from a file.',
    });
  }
  const [name] = history.image.split('@');
  if (typeof image?.name === 'string' && image.name === name) return;
  throw new InputError('INVALID_INPUT', `image: the history is one of the image ${JSON.stringify(name)}.`, {
    facts: {
      path: 'image',
      problem: 'is not the image of the history',
      recorded: history.image,
      given: String(image?.name),
    },
    hint: 'Give the image of that name; its version may be another one.',
  });
}

/**
 * The image without conditions that belong to the time when the process was spawned: its arguments have been validated, and
 * a body that throws is not to be run again.
 */
function withoutConditions({ input: _input, retry: _retry, tools, ...image }: Image, hasTools: boolean): Image {
  return { ...image, requires: [], ...(tools === undefined || !hasTools ? {} : { tools }) };
}

/** Creates the process with its recorded id, and the objects that its answers refer to. */
async function restore(kernel: Kernel, history: ProcessHistory, image: Image, ids: RecordedIds): Promise<void> {
  const { pid, name, args, goal, objects, capabilities } = history;
  const [goalObject] = objects.filter(({ id }) => id === goal);
  ids.reserve('process', pid);
  ids.reserve('object', goal);
  const spec = { image: `${image.name}@${image.version}`, args, goal: toGoal(goalObject?.payload) };
  await kernel.processes.spawn({ ...spec, ...(name === undefined ? {} : { name }) });
  for (const { id, ...object } of objects) {
    if (id === goal) continue;
    ids.reserve('object', id);
    await kernel.memory.create(pid, object).catch(() => {
      // Another object has the name: they were in different namespaces, or one of them is deleted.
      const { name: _name, ...unnamed } = object;
      ids.reserve('object', id);
      return kernel.memory.create(pid, unnamed);
    });
  }
  for (const capability of capabilities) {
    // Some come with the process itself, or belong to processes that are not there.
    await kernel.capabilities.grant(pid, capability).catch(() => undefined);
  }
}

function toGoal(payload: JsonValue | undefined): JsonObject {
  const isObject = typeof payload === 'object' && payload !== null && !Array.isArray(payload);
  return isObject ? (payload as JsonObject) : {};
}

/** Watches the one run of a kernel that replays a history. */
class ReplayWatch implements RecordedRun {
  readonly calls: ProcessHistory['calls'];
  readonly attempt: number;
  newCalls: readonly string[] = [];
  private end: RecordedRunEnd | undefined;

  constructor({ calls, attempt }: ProcessHistory) {
    this.calls = calls;
    this.attempt = attempt;
  }

  onNewCalls(calls: readonly string[]): void {
    this.newCalls = calls;
  }

  onEnd(end: RecordedRunEnd): void {
    this.end ??= end;
  }

  /** The calls of the body itself; those within steps are not made. */
  get comparable(): readonly string[] {
    return this.calls.filter(({ path = [], key }) => path.length <= 1 && !/^log #\d+$/.test(key)).map(({ key }) => key);
  }

  /** The recorded calls without an answer that the body has not made. */
  missing(made: readonly string[]): readonly string[] {
    const unanswered = this.calls.filter(({ path = [], status }) => path.length <= 1 && isUnanswered(status));
    return unanswered.map(({ key }) => key).filter((key) => !made.includes(key));
  }

  /** Resolves when the body has ended, or waits only for calls without an answer. Throws WAIT_TIMEOUT. */
  async untilSettled(timeoutMs: number): Promise<RecordedRunEnd | undefined> {
    const until = performance.now() + timeoutMs;
    for (let quiet = 0; quiet < quietPollsMin; ) {
      if (this.end !== undefined) return this.end;
      if (performance.now() > until) throw replayTimeout(timeoutMs);
      await sleep(pollMs);
      quiet = this.newCalls.length > 0 ? quiet + 1 : 0;
    }
    return this.end;
  }
}

const pollMs = 2;
/** A body may make several calls at once, in different turns of the event loop. */
const quietPollsMin = 5;

function isUnanswered(status: string): boolean {
  return status === 'started' || status === 'backoff';
}

async function toResult(
  kernel: Kernel,
  { pid, status: recordedStatus }: ProcessHistory,
  watch: ReplayWatch,
  end: RecordedRunEnd | undefined,
): Promise<ReplayResult> {
  const { comparable } = watch;
  if (end?.reason.code === 'NON_DETERMINISTIC') {
    const { recorded, asked } = end.reason.facts as { recorded: string; asked: string };
    throw departed(comparable, recorded, asked);
  }
  const newCalls = end?.newCalls ?? watch.newCalls;
  const [missing] = watch.missing(newCalls);
  const { status, wait, outcome, message = '' } = await kernel.processes.get(pid);
  if (end?.unclaimed !== undefined) throw departed(comparable, end.unclaimed, wait?.asked ?? endOfBody);
  if (missing !== undefined) throw departed(comparable, missing, end === undefined ? (newCalls[0] ?? '') : endOfBody);
  const calls = comparable.length - watch.missing([]).length;
  if (end === undefined) return { ok: true, calls, isComplete: false, nextCalls: newCalls };
  const ended = { ok: true, calls, isComplete: true, nextCalls: [] } as const;
  if (status === 'exited') {
    const { value } = await kernel.processes.result(pid);
    return value === undefined ? ended : { ...ended, result: value };
  }
  const error = { code: outcome?.reason ?? status, message };
  if (recordedStatus === 'exited') throw departed(comparable, 'exit', `${endOfBody}: ${error.code}: ${message}`);
  return { ...ended, error };
}

const endOfBody = 'the end of the body';

function departed(calls: readonly string[], expected: string, found: string): ProcessError {
  const index = calls.indexOf(expected);
  const position = index < 0 ? calls.length : index;
  return new ProcessError(
    'NON_DETERMINISTIC',
    `The body goes another way than the recorded one: call ${position + 1} was "${expected}", and now it is "${found}".`,
    {
      facts: { recorded: expected, asked: found, expected, found, position },
      hint: 'Make the recorded calls in their order, and ask ctx.patched where the body has changed. If no such process is left, record a new history.',
    },
  );
}

function replayTimeout(timeoutMs: number): ProcessError {
  return new ProcessError('WAIT_TIMEOUT', `The body has neither ended nor made a call within ${timeoutMs} ms.`, {
    facts: { timeoutMs },
    hint: 'A body that is replayed waits for nothing but its calls: put other work into steps.',
    retryable: true,
  });
}
