import { inject, injectable } from 'inversify';
import { z } from 'zod';
import type { Pid } from '../../base/ids.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import { Store } from '../../base/store.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { type EntryStatus, type RunEntry, RunEntryRepository } from '../process/run-entry-repository.js';
import { parse, parsePid } from '../specs.js';

/** One call of a body. Its answer is shown to the host on request. */
export interface JournalEntry {
  /** The steps it was made in, its kind, name and ordinal, such as `step pay #1 > spawnChild bank #1`. */
  readonly key: string;
  /** `started` and `backoff` have no answer yet. */
  readonly status: EntryStatus;
  /** The attempt of the step. */
  readonly attempt: number;
  /** When it continues or times out. */
  readonly dueAt?: number;
  /** The fence of the run that wrote it. */
  readonly fence: number;
  /** When it was written. */
  readonly at: number;
  /** With `values: 'whole'`: the steps it was made in, the outermost first, then itself, each as in `key`. */
  readonly path?: readonly string[];
  /** With `values`: the answer, or the error of a failed call; absent where there is none. */
  readonly value?: JsonValue;
  /** The number of characters of the JSON of an answer that is too long: `value` is the beginning of that text. */
  readonly cutFrom?: number;
}

/** Options of `journal`. */
export interface JournalOptions {
  /** Whether the entries have their values; default false. `whole`: none is cut, however long. */
  readonly values?: boolean | 'whole';
}

/** The longest answer that is shown whole, as characters of JSON, and the most that all of one journal have together. */
const valueCharsMax = 16_384;
const valuesCharsMax = 4_194_304;
const journalOptions = z.strictObject({ values: z.union([z.boolean(), z.literal('whole')]).default(false) });

/** Reads the replay journals of runs. */
@injectable()
export class RunHistory {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(RunEntryRepository) private readonly entries: RunEntryRepository,
  ) {}

  /** Throws NO_SUCH_PROCESS. */
  async journalOf(input: unknown, options: unknown = {}): Promise<JournalEntry[]> {
    const pid: Pid = parsePid(input);
    const { values } = parse(journalOptions, options, 'options');
    return this.store.read(async (tx) => {
      const { n } = await this.lookup.get(tx, pid);
      const entries = await this.entries.findAll(tx, n);
      const unanswered = entries.filter(({ seq }) => seq === 0);
      const inOrder = [...entries.slice(unanswered.length), ...unanswered];
      if (values === 'whole') return inOrder.map(toWholeEntry);
      return values ? withValues(inOrder) : inOrder.map(toJournalEntry);
    });
  }
}

function toJournalEntry({ key, status, attempt, dueAt, fence, at }: RunEntry): JournalEntry {
  const due = dueAt === null ? {} : { dueAt };
  return { key: key.replaceAll('\n', ' > '), status, attempt, ...due, fence, at };
}

function withValues(entries: readonly RunEntry[]): JournalEntry[] {
  let left = valuesCharsMax;
  return entries.map((entry) => {
    if (entry.seq === 0) return toJournalEntry(entry);
    const value = answerOf(entry);
    if (value === undefined) return toJournalEntry(entry);
    const text = JSON.stringify(value);
    const room = Math.min(valueCharsMax, left);
    left -= Math.min(text.length, room);
    if (text.length <= room) return { ...toJournalEntry(entry), value };
    return { ...toJournalEntry(entry), value: text.slice(0, room).toWellFormed(), cutFrom: text.length };
  });
}

function toWholeEntry(entry: RunEntry): JournalEntry {
  const value = entry.seq === 0 ? undefined : answerOf(entry);
  return { ...toJournalEntry(entry), path: entry.key.split('\n'), ...(value === undefined ? {} : { value }) };
}

/** The entries of a journal that was read with `values: 'whole'`, for the process with the number `process`. */
export function toRunEntries(process: number, journal: readonly JournalEntry[]): RunEntry[] {
  let seq = 0;
  return journal.map(({ key, path = [key], status, attempt, dueAt = null, fence, at, value }) => {
    const isStep = path.at(-1)?.startsWith(stepPrefix) === true;
    const stored = isStep && status === 'done' ? { ...(value === undefined ? {} : { value }) } : (value ?? null);
    const isAnswered = status === 'done' || status === 'failed';
    const place = { process, key: path.join('\n'), seq: isAnswered ? ++seq : 0 };
    return { ...place, status, value: stored, attempt, dueAt, fence, at };
  });
}

const stepPrefix = 'step ';

/** The answer as the body got it. That of a step is stored as the member `value` of an object, which lacks it for undefined. */
function answerOf({ key, status, value }: RunEntry): JsonValue | undefined {
  const isStep = key.slice(key.lastIndexOf('\n') + 1).startsWith(stepPrefix);
  if (!isStep || status !== 'done' || typeof value !== 'object' || value === null) return value;
  return (value as JsonObject).value;
}
