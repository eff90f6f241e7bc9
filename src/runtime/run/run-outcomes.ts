import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import { Entropy } from '../../base/entropy.js';
import { isOutcomeUnknown, KernelError, StoreError } from '../../base/errors.js';
import type { JsonObject } from '../../base/json.js';
import { Logger } from '../../base/logger.js';
import { Store, type WriteTx } from '../../base/store.js';
import { ProcessEnds } from '../../kernel/lifecycle/process-ends.js';
import type { Outcome, ProcessRow } from '../../kernel/process/process.js';
import { ProcessRepository, saveProcess } from '../../kernel/process/process-repository.js';
import { RunEntryRepository } from '../../kernel/process/run-entry-repository.js';
import { nextState } from '../../kernel/process/transitions.js';
import { Exit } from '../../kernel/syscalls/exit.js';
import type { Act } from '../../unit/act.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import type { ImageResult } from '../image/image.js';
import { buildOf } from '../image/image-build.js';
import type { ParsedImage } from '../image/image-definition.js';
import { Releases } from '../node/releases.js';
import { isPermanent, type RetryPlan, type RetryPolicy, randomOf, retryDelayMs } from '../step/retry.js';
import { BodyCalls } from './body-calls.js';
import type { OpenCall } from './call-tree.js';
import { codeOfError, evidenceOf, givenEvidenceOf, messageOf } from './error-record.js';
import { ProcessReports } from './process-reports.js';
import { ReplayJournal } from './replay-journal.js';
import type { Run } from './run.js';
import { nonDeterministic } from './run-errors.js';

/** What became of a process whose body threw, where it was not being stopped. */
type ThrowReport = 'failed' | 'retried' | 'parked';

/**
 * Ends a process, or schedules its retry, when its body has returned or thrown. Each method is one fenced unit: of a run
 * that has lost its process nothing is written.
 */
@injectable()
export class RunOutcomes {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(Exit) private readonly exit: Exit,
    @inject(ProcessEnds) private readonly processEnds: ProcessEnds,
    @inject(ReplayJournal) private readonly journal: ReplayJournal,
    @inject(Releases) private readonly releases: Releases,
    @inject(BodyCalls) private readonly calls: BodyCalls,
    @inject(RunEntryRepository) private readonly entries: RunEntryRepository,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(Entropy) private readonly entropy: Entropy,
    @inject(ProcessReports) private readonly reports: ProcessReports,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  /** Exits with the value that the body returned. A value that cannot be a result fails the process. */
  async commitReturn(run: Run, image: ParsedImage, value: ImageResult): Promise<void> {
    const unclaimed = run.replay.firstUnclaimed;
    if (unclaimed !== undefined) return this.commitPark(run, image, nonDeterministic(unclaimed, endOfBody));
    try {
      await this.exitWith(run, value);
    } catch (error) {
      // Its deadline has passed, so that it is being stopped now: in its grace it keeps its result.
      if (error instanceof KernelError && error.code === 'CANCELLED') return this.exitWith(run, value);
      if (!(error instanceof KernelError) || error instanceof StoreError || run.endReason !== undefined) throw error;
      await this.commitThrow(run, image, error);
    }
  }

  /**
   * The first case that matches: a process that is stopping ends with the stored reason; one whose body threw because the
   * store was busy or full is released, to be run again; one whose policy allows it is retried; one whose body has not made
   * all calls of its journal waits for other code; any other fails.
   */
  async commitThrow(run: Run, image: ParsedImage, error: unknown): Promise<void> {
    const unclaimed = run.replay.firstUnclaimed;
    const report = await this.runLastCall(run, (call) =>
      this.journal.commit(run, call, 'process.fail', async (tx, act): Promise<ThrowReport | undefined> => {
        const row = (await this.processes.find(tx, run.pid)) as ProcessRow;
        if (row.status === 'stopping') {
          await this.failProcess(tx, act, row, error);
          return undefined;
        }
        const retry = this.planRetry(row, image, error);
        if (isRetryableStoreError(error)) await this.releases.release(tx, act, row, 'store');
        else if (retry !== undefined) await this.scheduleRetry(tx, act, row, error, retry);
        else if (unclaimed !== undefined) return 'parked';
        else {
          await this.failProcess(tx, act, row, error);
          return 'failed';
        }
        return 'retried';
      }),
    );
    const end = `${endOfBody}: ${messageOf(error)}`.slice(0, endTextMax);
    if (report === 'parked') await this.commitPark(run, image, nonDeterministic(unclaimed ?? '', end));
    else if (report !== undefined) this.reports[report](run, error);
  }

  /**
   * Has the process wait for code that can replay its journal, which stays as it is: `error` is NON_DETERMINISTIC. One that
   * is stopping ends with the stored reason.
   */
  async commitPark(run: Run, image: ParsedImage, error: KernelError): Promise<void> {
    const build = buildOf(image);
    const { recorded, asked } = error.facts as { recorded: string; asked: string };
    const isParked = await this.store.write(async (tx) => {
      const row = await this.processes.find(tx, run.pid);
      if (row === undefined || row.fence !== run.fence) return false;
      const act: Act = { actor: run.pid, via: 'process', at: this.clock.now() };
      if (row.status === 'stopping') {
        await this.processEnds.endStopping(tx, act, row, 'process.stop');
        return false;
      }
      await this.park(tx, act, row, build, { recorded, asked });
      return true;
    });
    const facts = { pid: run.pid, image: `${image.name}@${image.version}`, build, recorded, asked };
    if (isParked) this.logger.warn(facts, 'a process waits for code: its journal cannot be replayed by this build');
  }

  /** Fails the process of a run whose outcome could not be committed in another way. */
  async commitFailure(run: Run, error: unknown): Promise<void> {
    const isFailed = await this.store.write(async (tx) => {
      const row = await this.processes.find(tx, run.pid);
      if (row === undefined || row.fence !== run.fence) return false;
      await this.failProcess(tx, { actor: run.pid, via: 'process', at: this.clock.now() }, row, error);
      return row.status !== 'stopping';
    });
    if (isFailed) this.reports.failed(run, error);
  }

  private exitWith(run: Run, value: ImageResult): Promise<void> {
    return this.runLastCall(run, (call) => {
      const caller = { face: 'process', pid: run.pid, run: run.hooksFor(call) } as const;
      return this.exit.run(caller, run.pid, value === undefined ? {} : { result: value });
    });
  }

  private async runLastCall<T>(run: Run, make: (call: OpenCall) => Promise<T>): Promise<T> {
    const call = run.beginLive();
    try {
      return await make(call);
    } finally {
      run.finish(call);
    }
  }

  private planRetry(
    { attempt, retry: stored }: ProcessRow,
    { retry }: ParsedImage,
    error: unknown,
  ): RetryPlan | undefined {
    const policy = (stored ?? undefined) as RetryPolicy | undefined;
    const delayMs = isPermanent(retry, error) ? undefined : retryDelayMs(policy, attempt, randomOf(this.entropy));
    return delayMs === undefined ? undefined : { delayMs, droppedKeys: this.calls.failedKeysOf(error) };
  }

  /** Only its deadline acts on it until a node has another build, or the host decides. */
  private async park(
    tx: WriteTx,
    act: Act,
    row: ProcessRow,
    build: string,
    calls: { readonly recorded: string; readonly asked: string },
  ): Promise<void> {
    const { image } = row;
    const builds = [...new Set([...(row.failedBuilds ?? []), build])].slice(-failedBuildsMax);
    const wait = { kind: 'code', what: image, since: act.at, ...calls, builds } as const;
    const alarmAt = row.deadlineAt;
    const parked = nextState(row, 'park');
    const next: ProcessRow = { ...parked, wait, failedBuilds: builds, recoveries: 0, alarmAt, updatedAt: act.at };
    await saveProcess(this.processes, tx, next);
    this.recorder.record(tx, act, next, {
      event: 'process.waiting',
      data: { kind: wait.kind, what: image, deadline: null },
      action: 'process.park',
      before: row.status,
      after: next.status,
      facts: { image, build, fence: next.fence },
      payload: { ...calls },
      lineage: true,
    });
  }

  private async failProcess(tx: WriteTx, act: Act, row: ProcessRow, error: unknown): Promise<void> {
    if (row.status === 'stopping')
      return this.processEnds.endStopping(tx, act, row, 'process.stop', givenEvidenceOf(error));
    const outcome: Outcome = { kind: 'failed', reason: codeOfError(error), evidence: evidenceOf(error) };
    const message = messageOf(error);
    await this.processEnds.end(tx, act, {
      row,
      ended: nextState(row, 'fail'),
      outcome,
      action: 'process.fail',
      message,
    });
  }

  /** The delay is a timer in the process row: it is kept when this program ends. */
  private async scheduleRetry(
    tx: WriteTx,
    act: Act,
    row: ProcessRow,
    error: unknown,
    { delayMs, droppedKeys }: RetryPlan,
  ): Promise<void> {
    const dueAt = act.at + delayMs;
    const attempt = row.attempt + 1;
    const wait = { kind: 'timer', what: 'retry', since: act.at, deadline: dueAt } as const;
    const alarmAt = Math.min(dueAt, row.deadlineAt ?? dueAt);
    const backoff = delayMs === 0 ? nextState(row, 'release') : { ...nextState(row, 'backoff'), wait, alarmAt };
    const next: ProcessRow = { ...backoff, attempt, recoveries: 0, updatedAt: act.at };
    await saveProcess(this.processes, tx, next);
    for (const key of droppedKeys) await this.entries.remove(tx, row.n, key);
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

/** Stands for the call that a body asks for when it ends. */
const endOfBody = 'the end of the body';
const endTextMax = 500;
/** The newest are kept. */
const failedBuildsMax = 100;

/** Also where a commit may have been carried out: what it has answered is in the journal then, and the next run gets it. */
function isRetryableStoreError(error: unknown): boolean {
  return error instanceof StoreError && (error.retryable || isOutcomeUnknown(error));
}
