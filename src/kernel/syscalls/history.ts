import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import { Store } from '../../base/store.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { type EntryStatus, type RunEntry, RunEntryRepository } from '../process/run-entry-repository.js';
import { parsePid } from '../specs.js';

/** One call of a body, without its answer, which is for the process only. */
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
}

/** Reads the replay journals of runs. */
@injectable()
export class RunHistory {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(RunEntryRepository) private readonly entries: RunEntryRepository,
  ) {}

  /** Throws NO_SUCH_PROCESS. */
  journalOf(input: unknown): Promise<JournalEntry[]> {
    const pid: Pid = parsePid(input);
    return this.store.read(async (tx) => {
      const { n } = await this.lookup.get(tx, pid);
      const entries = await this.entries.findAll(tx, n);
      const unanswered = entries.filter(({ seq }) => seq === 0);
      return [...entries.slice(unanswered.length), ...unanswered].map(toJournalEntry);
    });
  }
}

function toJournalEntry({ key, status, attempt, dueAt, fence, at }: RunEntry): JournalEntry {
  const due = dueAt === null ? {} : { dueAt };
  return { key: key.replaceAll('\n', ' > '), status, attempt, ...due, fence, at };
}
