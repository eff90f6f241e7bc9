import type { KernelError } from '../../base/errors.js';
import { type Token, token } from '../../base/token.js';
import type { RunEntry } from '../../kernel/process/run-entry-repository.js';
import { type JournalEntry, toRunEntries } from '../../kernel/syscalls/history.js';

/**
 * A recorded journal for a kernel that replays bodies instead of running processes, for tests of images: every call gets its
 * answer from there, and a call that has none is never made. Without members in kernels that run processes.
 */
export interface RecordedRun {
  /** As `processes.journal(pid, { values: 'whole' })` gives them. */
  readonly calls?: readonly JournalEntry[];
  /** The attempt that the body is told. */
  readonly attempt?: number;
  /** Called when the body waits only for calls that have no answer, with all of them. */
  onNewCalls?(calls: readonly string[]): void;
  /** Called when the run is over. */
  onEnd?(end: RecordedRunEnd): void;
}
export const RecordedRun: Token<RecordedRun> = token('RecordedRun');

/** The end of a run against a recorded journal. */
export interface RecordedRunEnd {
  /** NON_DETERMINISTIC where the body has asked for another call than the recorded one; RUN_ENDED where it has ended. */
  readonly reason: KernelError;
  /** The first recorded answer that the body has not asked for. */
  readonly unclaimed?: string;
  /** The calls that have no answer. */
  readonly newCalls: readonly string[];
}

/**
 * The entries that a body is run against. Those of calls within steps are left out: a step with an answer is not run, and one
 * without is not run either.
 */
export function recordedEntries(process: number, calls: readonly JournalEntry[]): RunEntry[] {
  return toRunEntries(
    process,
    calls.filter(({ path = [] }) => path.length <= 1),
  );
}
