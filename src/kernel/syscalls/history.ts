import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import { Store } from '../../base/store.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { type EntryStatus, type RunEntry, RunEntryRepository } from '../process/run-entry-repository.js';
import { parsePid } from '../specs.js';

/** One call of a body. What it was answered is the process's own affair, and not shown. */
export interface JournalEntry {
  /** The steps it was made in, its kind and name, and which of them it was, such as `step pay #1 > spawnChild bank #1`. */
  readonly key: string;
  /** `started` and `backoff` have no answer yet. */
  readonly status: EntryStatus;
  readonly attempt: number;
  /** When it goes on or gives up. */
  readonly dueAt?: number;
  /** Of the run that wrote it. */
  readonly fence: number;
  readonly at: number;
}

/** Shows what bodies have done. */
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
      const begun = entries.filter(({ seq }) => seq === 0);
      return [...entries.slice(begun.length), ...begun].map(toJournalEntry);
    });
  }
}

function toJournalEntry({ key, status, attempt, dueAt, fence, at }: RunEntry): JournalEntry {
  const due = dueAt === null ? {} : { dueAt };
  return { key: key.replaceAll('\n', ' > '), status, attempt, ...due, fence, at };
}
