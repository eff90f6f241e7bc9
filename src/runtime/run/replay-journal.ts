import { inject, injectable } from 'inversify';
import { StoreError } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import type { WriteTx } from '../../base/store.js';
import { Accounts } from '../../kernel/budget/accounts.js';
import type { CallEdit, TakenUses, ToolStage } from '../../kernel/face/tool-gate.js';
import { ProcessRepository, saveProcess } from '../../kernel/process/process-repository.js';
import { type EntryStatus, type RunEntry, RunEntryRepository } from '../../kernel/process/run-entry-repository.js';
import type { Act } from '../../unit/act.js';
import type { AuditAction } from '../../unit/actions.js';
import type { CallKind, RunHooks } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import type { RetryPlan } from '../step/retry.js';
import { editKeyOf, type OpenCall } from './call-tree.js';
import { CommittedAnswers } from './committed-answers.js';
import { codeOfError, toErrorRecord } from './error-record.js';
import type { Run } from './run.js';
import { processStopping } from './run-errors.js';

interface EntryUpdate {
  readonly status: EntryStatus;
  readonly value?: JsonValue;
  readonly attempt?: number;
  readonly dueAt?: number;
}

/**
 * Writes the entries of runs. An answer is committed together with the effect that it answers, so that after a crash either
 * both are there or neither, and a rerun does not repeat an effect that has its answer.
 */
@injectable()
export class ReplayJournal {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(RunEntryRepository) private readonly entries: RunEntryRepository,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(CommittedAnswers) private readonly answers: CommittedAnswers,
  ) {}

  /** To be called in the unit that the answer comes from. */
  recordAnswer(tx: WriteTx, act: Act, run: Run, call: OpenCall, value: JsonValue): Promise<void> {
    return this.put(tx, act, run, call, { status: 'done', value });
  }

  /** A failure is an answer too: a rerun gets it again. */
  async recordFailure(run: Run, call: OpenCall, error: unknown): Promise<void> {
    await this.commit(run, call, 'call.fail', (tx, act) =>
      this.put(tx, act, run, call, { status: 'failed', value: toErrorRecord(error) }),
    );
  }

  /** To be called in the unit by which a tool call reaches the stage. */
  async recordToolStage(
    tx: WriteTx,
    act: Act,
    run: Run,
    call: OpenCall,
    attempt: number,
    stage: ToolStage,
  ): Promise<void> {
    switch (stage.stage) {
      case 'intent':
        await this.putEdit(tx, act, run, call, stage.edit);
        return this.put(tx, act, run, call, { status: 'started', attempt, ...toStoredUses(stage.uses) });
      case 'returned':
        return this.put(tx, act, run, call, { status: 'done', value: stage.value, attempt });
      case 'failed':
        return this.put(tx, act, run, call, { status: 'failed', value: toErrorRecord(stage.error), attempt });
    }
  }

  /** The time at which a call with a limit of `ms` is due. The first run fixes it, and later runs get the same. */
  async fixDueTime(run: Run, call: OpenCall, ms: number): Promise<number> {
    const fixed = run.replay.findUnanswered(call)?.dueAt ?? null;
    if (fixed !== null) return fixed;
    return this.commit(run, call, 'call.begin', async (tx, act) => {
      const dueAt = act.at + ms;
      await this.put(tx, act, run, call, { status: 'started', dueAt });
      return dueAt;
    });
  }

  /** `cleanup`: whether the step runs while the process is being stopped. Throws CANCELLED where it does not. */
  async recordStepStart(run: Run, call: OpenCall, name: string, attempt: number, cleanup: boolean): Promise<void> {
    const work = async (tx: WriteTx, act: Act) => {
      const row = await this.processes.find(tx, run.pid);
      if (row?.status === 'stopping' && !cleanup) throw processStopping(run.pid, row.stop?.kind ?? 'cancelled');
      await this.put(tx, act, run, call, { status: 'started', attempt });
      const data = { name, attempt };
      const step = { event: 'step.started', data, action: 'step.start', facts: data } as const;
      return this.recorder.record(tx, act, run.row, step);
    };
    call.record = await this.commit(run, call, 'step.start', work, run.hooksFor(call), cleanup ? 'record' : 'act');
  }

  async recordStepCompletion(run: Run, call: OpenCall, name: string, attempt: number, value: JsonValue): Promise<void> {
    const work = async (tx: WriteTx, act: Act) => {
      await this.put(tx, act, run, call, { status: 'done', value, attempt });
      const row = await this.processes.find(tx, run.pid);
      if (row !== undefined) await this.accounts.addStored(tx, row, Buffer.byteLength(JSON.stringify(value)));
      const data = { name, attempt };
      this.recorder.record(tx, act, run.row, { event: 'step.completed', data, action: 'step.complete', facts: data });
    };
    await this.commit(run, call, 'step.complete', work, run.hooksFor(call, { ignoresPause: true }));
    run.replay.dropCallsWithin(call.key);
  }

  /** Answers with the time of the next attempt; undefined without `retry`, which makes the failure the step's answer. */
  async recordStepFailure(
    run: Run,
    call: OpenCall,
    step: { readonly name: string; readonly attempt: number },
    error: unknown,
    retry?: RetryPlan,
  ): Promise<number | undefined> {
    const { name, attempt } = step;
    // The next attempt logs its lines anew.
    const dropped = retry === undefined ? [] : [...retry.droppedKeys, ...run.replay.logsWithin(call.key)];
    const work = async (tx: WriteTx, act: Act) => {
      const retryAt = retry === undefined ? undefined : act.at + retry.delayMs;
      const update: EntryUpdate =
        retryAt === undefined
          ? { status: 'failed', value: toErrorRecord(error), attempt }
          : { status: 'backoff', attempt: attempt + 1, dueAt: retryAt };
      for (const key of dropped) await this.entries.remove(tx, run.row.n, key);
      await this.put(tx, act, run, call, update);
      const data = { name, attempt, code: codeOfError(error), retryAt: retryAt ?? null };
      this.recorder.record(tx, act, run.row, { event: 'step.failed', data, action: 'step.fail', facts: data });
      return retryAt;
    };
    const retryAt = await this.commit(run, call, 'step.fail', work, run.hooksFor(call, { ignoresPause: true }));
    if (retry !== undefined) run.replay.restartStep(call.key, dropped);
    return retryAt;
  }

  /** Runs a write unit of a call as its process, fenced by the hooks of the run. Most record what has already happened. */
  commit<T>(
    run: Run,
    call: OpenCall,
    action: AuditAction,
    work: (tx: WriteTx, act: Act) => Promise<T>,
    hooks: RunHooks = run.hooksFor(call),
    kind: CallKind = action === 'call.begin' ? 'act' : 'record',
  ): Promise<T> {
    const { pid } = run;
    const caller = { face: 'process', pid, run: hooks } as const;
    return this.units.commit({ caller, actor: pid, action, target: pid, kind }, work);
  }

  private async put(tx: WriteTx, act: Act, run: Run, { key }: OpenCall, update: EntryUpdate): Promise<void> {
    const { status, value = null, attempt = 1, dueAt = null } = update;
    const isAnswer = status === 'done' || status === 'failed';
    const entry: RunEntry = {
      process: run.row.n,
      key,
      seq: isAnswer ? run.nextSeq() : 0,
      status,
      value,
      attempt,
      dueAt,
      fence: run.fence,
      at: act.at,
    };
    await this.entries.put(tx, entry);
    if (!isAnswer) return;
    this.answers.add(tx, run.replay, entry);
    await this.resetRecoveries(tx, run);
  }

  /** An edit of an earlier attempt does not count for this one. */
  private async putEdit(tx: WriteTx, act: Act, run: Run, call: OpenCall, edit: CallEdit | undefined): Promise<void> {
    const key = editKeyOf(call);
    const process = run.row.n;
    if (edit === undefined) {
      if (run.replay.findEdit(call) !== undefined) await this.entries.remove(tx, process, key);
      return;
    }
    const entry = {
      process,
      key,
      seq: 0,
      status: 'done',
      attempt: 1,
      dueAt: null,
      fence: run.fence,
      at: act.at,
    } as const;
    await this.entries.put(tx, { ...entry, value: edit as object as JsonValue });
  }

  /** A run with an answered call gets on: starts that are lost with their nodes are counted from the start. */
  private async resetRecoveries(tx: WriteTx, run: Run): Promise<void> {
    const row = await this.processes.find(tx, run.pid);
    if (row === undefined || row.recoveries === 0) return;
    await saveProcess(this.processes, tx, { ...row, recoveries: 0, version: row.version + 1 });
    run.notifyProgress();
  }
}

/** The uses that a tool call took are the value of its entry until it is answered. */
function toStoredUses(uses: TakenUses | undefined): { value?: JsonValue } {
  return uses === undefined ? {} : { value: uses as object as JsonValue };
}

/** Whether an error is the failure of the call itself; not when the run has ended, the store failed, or the node shuts down. */
export function isFailureOfCall(run: Run, error: unknown): boolean {
  return run.endReason === undefined && !(error instanceof StoreError) && !isCausedByShutdown(run, error);
}

/** Whether a call failed because the node shuts down. It has no answer then, and the next run makes it again. */
export function isCausedByShutdown(run: Run, error: unknown): boolean {
  return run.isClosing && !run.isStopping && abortCodes.has(codeOfError(error));
}

/** The codes and names of errors by which code reacts to the abort of `ctx.signal`. */
const abortCodes: ReadonlySet<string> = new Set(['SHUTDOWN', 'CANCELLED', 'AbortError', 'ABORT_ERR']);
