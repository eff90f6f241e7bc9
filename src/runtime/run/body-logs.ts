import { inject, injectable } from 'inversify';
import { ProcessRepository } from '../../kernel/process/process-repository.js';
import { type NewLogLine, ProcessLogs, parseLogLine } from '../../kernel/syscalls/logs.js';
import { ReplayJournal } from './replay-journal.js';
import type { Run } from './run.js';

/**
 * Writes the lines that bodies log. A line has an entry in the journal, so that a rerun does not write it again, but it is no
 * part of the way that a rerun has to go: a changed body may log more, less, or something else.
 */
@injectable()
export class BodyLogs {
  private readonly pending = new WeakMap<Run, Set<Promise<void>>>();

  constructor(
    @inject(ReplayJournal) private readonly journal: ReplayJournal,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(ProcessLogs) private readonly logs: ProcessLogs,
  ) {}

  /** Throws INVALID_INPUT, BUDGET_EXCEEDED. */
  async log(run: Run, text: unknown, facts: unknown): Promise<void> {
    const written = this.write(run, parseLogLine(text, facts));
    const pending = this.pending.get(run) ?? new Set();
    this.pending.set(run, pending.add(written));
    try {
      await written;
    } finally {
      pending.delete(written);
    }
  }

  /** Resolves when nothing is being written: a body need not wait for its last lines. */
  async settle(run: Run): Promise<void> {
    await Promise.allSettled(this.pending.get(run) ?? []);
  }

  private async write(run: Run, line: NewLogLine): Promise<void> {
    const call = run.beginJournalled('log', '');
    try {
      await run.admit(call);
      if (run.replay.isLogged(call)) return;
      await this.journal.commit(run, call, 'process.log', async (tx, act) => {
        const row = await this.processes.find(tx, run.pid);
        if (row !== undefined) await this.logs.append(tx, row, act.at, line);
        await this.journal.recordAnswer(tx, act, run, call, true);
      });
    } finally {
      run.finish(call);
    }
  }
}
