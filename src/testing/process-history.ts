import {
  type CapabilitySpec,
  type JournalEntry,
  type JsonValue,
  type Kernel,
  KernelError,
  type ObjectId,
  type ObjectType,
  type Pid,
  type ProcessStatus,
} from '../index.js';

/** The format of histories that this release writes and reads. */
export const historyFormat = 1;

/** What a process was given and every call that it has made, with the answers. It is JSON: a test can keep it in a file. */
export interface ProcessHistory {
  /** The version of the format. */
  readonly format: typeof historyFormat;
  readonly pid: Pid;
  /** `name@version`. */
  readonly image: string;
  readonly name?: string;
  readonly args: JsonValue;
  readonly goal: ObjectId;
  /** The attempt of the body. */
  readonly attempt: number;
  /** When the history was taken. */
  readonly status: ProcessStatus;
  /** The result of an ended process. */
  readonly result?: JsonValue;
  /** The journal, in the order of the answers; calls without an answer come last. */
  readonly calls: readonly JournalEntry[];
  /** The goal and the objects in the answers, which the body can read. */
  readonly objects: readonly RecordedObject[];
  /** The capabilities that it held, for bodies that ask for them. */
  readonly capabilities: readonly CapabilitySpec[];
}

/** An object as it was when the history was taken. */
export interface RecordedObject {
  readonly id: ObjectId;
  readonly type: ObjectType;
  readonly payload: JsonValue;
  readonly name?: string;
  readonly title?: string;
  readonly tags?: readonly string[];
}

/**
 * Reads the history of a process, whether it has ended or not, so that `replay` can run its image against it. It holds the
 * arguments, answers and objects of the process as they are: check what is in it before it goes into a repository.
 * Throws NO_SUCH_PROCESS.
 *
 * @example await writeFile('order.history.json', JSON.stringify(await historyOf(kernel, pid)));
 */
export async function historyOf(kernel: Kernel, pid: Pid): Promise<ProcessHistory> {
  const { processes } = kernel;
  const { image, name, args, goal, attempt, status, exitedAt } = await processes.get(pid);
  const journal = await processes.journal(pid, { values: 'whole' });
  const calls: JournalEntry[] = [];
  for (const entry of journal) calls.push(await withResults(kernel, entry));
  const result = exitedAt === undefined ? undefined : (await processes.result(pid)).value;
  const history: ProcessHistory = {
    format: historyFormat,
    pid,
    image,
    ...(name === undefined ? {} : { name }),
    args,
    goal,
    attempt,
    status,
    ...(result === undefined ? {} : { result }),
    calls,
    objects: await objectsOf(kernel, [goal, ...calls.flatMap(({ value }) => [...objectIdsIn(value)])]),
    capabilities: await capabilitiesOf(kernel, pid),
  };
  // A copy as it is read from a file, so that a test gets the same whether it was saved or not.
  return JSON.parse(JSON.stringify(history)) as ProcessHistory;
}

/** A wait is journalled with the pid of the child, whose result is stored with the child: here it is written out. */
async function withResults(kernel: Kernel, entry: JournalEntry): Promise<JournalEntry> {
  const { path = [], status, value } = entry;
  if (status !== 'done' || !/^wait(Any|All)? /.test(path.at(-1) ?? '')) return entry;
  if (!Array.isArray(value)) return { ...entry, value: await writeOut(kernel, value) };
  const results: JsonValue[] = [];
  for (const child of value as readonly JsonValue[]) results.push(await writeOut(kernel, child));
  return { ...entry, value: results };
}

async function writeOut({ processes }: Kernel, child: JsonValue | undefined): Promise<JsonValue> {
  if (typeof child !== 'string') return child ?? null;
  return JSON.parse(JSON.stringify(await processes.result(child))) as JsonValue;
}

/** The ids in handles as they are journalled, alone or beside the body of a message. */
function* objectIdsIn(value: JsonValue | undefined): Iterable<ObjectId> {
  if (typeof value !== 'object' || value === null) return;
  const { object, capability } = value as { object?: unknown; capability?: unknown };
  if (typeof object === 'string' && typeof capability === 'string') yield object;
  for (const member of Object.values(value)) yield* objectIdsIn(member as JsonValue);
}

async function objectsOf({ memory }: Kernel, ids: readonly ObjectId[]): Promise<RecordedObject[]> {
  const objects: RecordedObject[] = [];
  for (const id of new Set(ids)) {
    const found = await memory.inspect(id).catch(ignoreMissing);
    if (found === undefined) continue;
    const { type, payload, name, title, tags } = found;
    const labels = { ...(name === undefined ? {} : { name }), ...(title === undefined ? {} : { title }), tags };
    objects.push({ id, type, payload, ...labels });
  }
  return objects;
}

/** An object may be deleted, or the answer may only look like a handle. */
function ignoreMissing(error: unknown): undefined {
  if (!(error instanceof KernelError)) throw error;
}

const capabilitiesMax = 1_000;

async function capabilitiesOf({ capabilities }: Kernel, pid: Pid): Promise<CapabilitySpec[]> {
  const held = await capabilities.list(pid, { status: 'any', limit: capabilitiesMax });
  return held.map(({ resource, rights, constraints }) => ({
    resource,
    rights,
    ...(constraints === undefined ? {} : { constraints }),
  }));
}
