import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { Entropy } from '../../base/entropy.js';
import { KernelError, StoreError } from '../../base/errors.js';
import type { JsonObject } from '../../base/json.js';
import { Store, type WriteTx } from '../../base/store.js';
import { ProcessEnds } from '../../kernel/lifecycle/process-ends.js';
import type { Outcome, ProcessRow } from '../../kernel/process/process.js';
import { ProcessRepository } from '../../kernel/process/process-repository.js';
import { RunEntryRepository } from '../../kernel/process/run-entry-repository.js';
import { saveProcess } from '../../kernel/process/save-process.js';
import { nextState } from '../../kernel/process/transitions.js';
import { Exit } from '../../kernel/syscalls/exit.js';
import type { Act } from '../../unit/act.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import type { ImageResult } from '../image/image.js';
import type { ParsedImage } from '../image/image-definition.js';
import { Releases } from '../node/releases.js';
import { isPermanent, type RetryPolicy, retryDelay } from '../step/retry.js';
import type { OpenCall } from './call-tree.js';
import { Calls } from './calls.js';
import { codeOfError, evidenceOf, messageOf } from './recorded-error.js';
import { nonDeterministic } from './replay.js';
import { ReplayJournal } from './replay-journal.js';
import type { Run } from './run.js';

interface Retry {
  readonly inMs: number;
  /** The failures that ended the attempt: the next one can go otherwise. */
  readonly drop: readonly string[];
}

/** What becomes of a process when its body returns or throws. */
@injectable()
export class RunEndings {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(Exit) private readonly exit: Exit,
    @inject(ProcessEnds) private readonly endings: ProcessEnds,
    @inject(ReplayJournal) private readonly runs: ReplayJournal,
    @inject(Releases) private readonly releases: Releases,
    @inject(Calls) private readonly calls: Calls,
    @inject(RunEntryRepository) private readonly entries: RunEntryRepository,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(Entropy) private readonly entropy: Entropy,
  ) {}

  /** The body returned. A result that cannot be one is its failure. */
  async returned(run: Run, image: ParsedImage, value: ImageResult): Promise<void> {
    const unclaimed = run.replay.unclaimed;
    if (unclaimed !== undefined) return this.threw(run, image, nonDeterministic(unclaimed, 'the end of the body'));
    try {
      await this.lastCall(run, (call) => {
        const caller = { face: 'process', pid: run.pid, run: run.hooks(call) } as const;
        return this.exit.run(caller, run.pid, value === undefined ? {} : { result: value });
      });
    } catch (error) {
      if (!(error instanceof KernelError) || error instanceof StoreError || run.over !== undefined) throw error;
      await this.threw(run, image, error);
    }
  }

  /**
   * The body threw: it is tried again if its policy says so; one that was being stopped ends as it was to. What a store that
   * is busy or full has refused is not the body's failure: it is run again, over its journal.
   */
  async threw(run: Run, image: ParsedImage, error: unknown): Promise<void> {
    await this.lastCall(run, (call) =>
      this.runs.unit(run, call, 'process.fail', async (tx, act) => {
        const row = (await this.processes.find(tx, run.pid)) as ProcessRow;
        const retry = row.status === 'stopping' ? undefined : this.retry(row, image, error);
        if (row.status !== 'stopping' && isOfStore(error)) await this.releases.release(tx, act, row, 'store');
        else if (retry === undefined) await this.end(tx, act, row, error);
        else await this.tryAgain(tx, act, row, error, retry);
      }),
    );
  }

  /** The run is over by itself: it went another way than before, or how its body ended could not be written. */
  async stopped(run: Run, error: unknown): Promise<void> {
    await this.store.write(async (tx) => {
      const row = await this.processes.find(tx, run.pid);
      if (row === undefined || row.fence !== run.fence) return;
      await this.end(tx, { actor: run.pid, via: 'process', at: this.clock.now() }, row, error);
    });
  }

  private async lastCall(run: Run, make: (call: OpenCall) => Promise<void>): Promise<void> {
    const call = run.beginUnkept();
    try {
      await make(call);
    } finally {
      run.finish(call);
    }
  }

  private retry({ attempt, retry: stored }: ProcessRow, { retry }: ParsedImage, error: unknown): Retry | undefined {
    if (error instanceof KernelError && error.code === 'NON_DETERMINISTIC') return undefined;
    const chance = () => this.entropy.bytes(1).readUInt8() / 256;
    const policy = (stored ?? undefined) as RetryPolicy | undefined;
    const inMs = isPermanent(retry, error) ? undefined : retryDelay(policy, attempt, chance);
    return inMs === undefined ? undefined : { inMs, drop: this.calls.causesOf(error) };
  }

  private async end(tx: WriteTx, act: Act, row: ProcessRow, error: unknown): Promise<void> {
    if (row.status === 'stopping') return this.endings.endStopping(tx, act, row, 'process.stop');
    const outcome: Outcome = { kind: 'failed', reason: codeOfError(error), evidence: evidenceOf(error) };
    const message = messageOf(error);
    await this.endings.end(tx, act, { row, ended: nextState(row, 'fail'), outcome, action: 'process.fail', message });
  }

  /** The wait for another try is a timer of the table: it outlives this program. */
  private async tryAgain(tx: WriteTx, act: Act, row: ProcessRow, error: unknown, { inMs, drop }: Retry): Promise<void> {
    const dueAt = act.at + inMs;
    const attempt = row.attempt + 1;
    const wait = { kind: 'timer', what: 'retry', since: act.at, deadline: dueAt } as const;
    const alarmAt = Math.min(dueAt, row.deadlineAt ?? dueAt);
    const backoff = inMs === 0 ? nextState(row, 'release') : { ...nextState(row, 'backoff'), wait, alarmAt };
    const next: ProcessRow = { ...backoff, attempt, recoveries: 0, updatedAt: act.at };
    await saveProcess(this.processes, tx, next);
    for (const key of drop) await this.entries.remove(tx, row.n, key);
    const facts: JsonObject = { attempt, dueAt, code: codeOfError(error) };
    this.recorder.record(tx, act, next, {
      event: 'process.retrying',
      data: { attempt, dueAt, code: codeOfError(error) },
      action: 'process.retry',
      before: row.status,
      after: next.status,
      facts,
      payload: { message: messageOf(error) },
      lineage: true,
    });
  }
}

function isOfStore(error: unknown): boolean {
  return error instanceof StoreError && error.retryable;
}
