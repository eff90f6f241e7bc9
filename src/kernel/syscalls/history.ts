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
  readonly attempt: number;
  /** When it continues or times out. */
  readonly dueAt?: number;
  /** The fence of the run that wrote it. */
  readonly fence: number;
  readonly at: number;
  /** With `values`: the answer, or the error of a failed call; absent where there is none. */
  readonly value?: JsonValue;
  /** The number of characters of the JSON of an answer that is too long: `value` is the beginning of that text. */
  readonly cutFrom?: number;
}

export interface JournalOptions {
  /** Whether the entries have their values; default false. */
  readonly values?: boolean;
}

/** The longest answer that is shown whole, as characters of JSON, and the most that all of one journal have together. */
const valueCharsMax = 16_384;
const valuesCharsMax = 4_194_304;
const journalOptions = z.strictObject({ values: z.boolean().default(false) });

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

/** The answer as the body got it. That of a step is stored as the member `value` of an object, which lacks it for undefined. */
function answerOf({ key, status, value }: RunEntry): JsonValue | undefined {
  const isStep = key.slice(key.lastIndexOf('\n') + 1).startsWith('step ');
  if (!isStep || status !== 'done' || typeof value !== 'object' || value === null) return value;
  return (value as JsonObject).value;
}
