import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import { copyPlain, specLimits } from '../../base/spec.js';
import type { WriteTx } from '../../base/store.js';
import type { Act } from '../../unit/act.js';
import type { ProcessCaller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import { Accounts } from '../budget/accounts.js';
import type { ProcessRow } from '../process/process.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { ProcessRepository, saveProcess } from '../process/process-repository.js';
import { findRenewedState, type RenewedState, stateEntry } from '../process/renewed-state.js';
import { RunEntryRepository } from '../process/run-entry-repository.js';
import { nextState } from '../process/transitions.js';
import { statusOfQuestion } from '../question/question.js';
import { QuestionRepository } from '../question/question-repository.js';

/** Begins the body of a process anew. */
@injectable()
export class Renew {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(RunEntryRepository) private readonly entries: RunEntryRepository,
    @inject(QuestionRepository) private readonly questions: QuestionRepository,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /**
   * The same image begins with an empty journal and `state`, in one commit. Pid, children, budget, capabilities and mailbox
   * stay; questions that the former body waited for are closed. Throws INVALID_INPUT, BUDGET_EXCEEDED, TREE_STOPPING.
   */
  async run(caller: ProcessCaller, pid: Pid, input: unknown): Promise<void> {
    const state = copyPlain(input, 'state', specLimits);
    const call = { caller, actor: pid, action: 'process.renew', target: pid } as const;
    await this.units.commit(call, async (tx, act) => {
      const row = await this.lookup.getSpawnable(tx, pid);
      const next: ProcessRow = { ...nextState(row, 'renew'), alarmAt: row.deadlineAt, updatedAt: act.at };
      const former = await this.entries.findAll(tx, row.n);
      const renewed: RenewedState = { state, renewals: (findRenewedState(former)?.renewals ?? 0) + 1 };
      await this.accounts.charge(tx, row, { storedBytes: Buffer.byteLength(JSON.stringify(state)) });
      await this.closeQuestions(tx, act, row);
      await saveProcess(this.processes, tx, next);
      await this.entries.clear(tx, row.n);
      await this.entries.put(tx, stateEntry({ process: row.n, fence: next.fence, at: act.at }, renewed));
      const facts = { renewals: renewed.renewals, entries: former.length };
      this.recorder.record(tx, act, next, {
        event: 'process.renewed',
        data: facts,
        action: 'process.renew',
        before: row.status,
        after: next.status,
        facts: { ...facts, fence: next.fence },
      });
    });
  }

  private async closeQuestions(tx: WriteTx, act: Act, row: ProcessRow): Promise<void> {
    for (const record of await this.questions.ofProcess(tx, row.n)) {
      if (statusOfQuestion(record, row, act.at) !== 'pending') continue;
      await this.questions.close(tx, record.id, act.at);
      const data = { question: record.id };
      this.recorder.record(tx, act, row, { event: 'question.closed', data, action: 'question.close', facts: data });
    }
  }
}
