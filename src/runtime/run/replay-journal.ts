import { inject, injectable } from 'inversify';
import { ProcessError, StoreError } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import type { WriteTx } from '../../base/store.js';
import type { ToolStage } from '../../kernel/face/tool-gate.js';
import { ProcessRepository } from '../../kernel/process/process-repository.js';
import { type EntryStatus, type RunEntry, RunEntryRepository } from '../../kernel/process/run-entry-repository.js';
import { saveProcess } from '../../kernel/process/save-process.js';
import type { Act } from '../../unit/act.js';
import type { AuditAction } from '../../unit/actions.js';
import type { RunHooks } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import type { OpenCall } from './call-tree.js';
import { codeOfError, recordedError } from './recorded-error.js';
import type { Run } from './run.js';

interface Told {
  readonly status: EntryStatus;
  readonly value?: JsonValue;
  readonly attempt?: number;
  readonly dueAt?: number;
}

/** Writes down what the calls of runs were answered, each in the commit of what it did. */
@injectable()
export class ReplayJournal {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(RunEntryRepository) private readonly entries: RunEntryRepository,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /** An answer, in the unit that gave it. */
  done(tx: WriteTx, act: Act, run: Run, call: OpenCall, value: JsonValue): Promise<void> {
    return this.put(tx, act, run, call, { status: 'done', value });
  }

  /** A failure is an answer too: a rerun gets it again. */
  async failed(run: Run, call: OpenCall, error: unknown): Promise<void> {
    await this.unit(run, call, 'call.fail', (tx, act) =>
      this.put(tx, act, run, call, { status: 'failed', value: recordedError(error) }),
    );
  }

  /** How far the call of a tool has come, in the unit that brought it there. */
  async staged(tx: WriteTx, act: Act, run: Run, call: OpenCall, attempt: number, told: ToolStage): Promise<void> {
    switch (told.stage) {
      case 'intent':
        return this.put(tx, act, run, call, { status: 'started', attempt });
      case 'returned':
        return this.put(tx, act, run, call, { status: 'done', value: told.value, attempt });
      case 'failed':
        return this.put(tx, act, run, call, { status: 'failed', value: recordedError(told.error), attempt });
    }
  }

  /** When a call that was given so much time gives up: fixed by the run that made it first. */
  async due(run: Run, call: OpenCall, ms: number): Promise<number> {
    const begun = run.replay.begun(call)?.dueAt ?? null;
    if (begun !== null) return begun;
    return this.unit(run, call, 'call.begin', async (tx, act) => {
      const dueAt = act.at + ms;
      await this.put(tx, act, run, call, { status: 'started', dueAt });
      return dueAt;
    });
  }

  async stepStarted(run: Run, call: OpenCall, name: string, attempt: number): Promise<void> {
    await this.unit(run, call, 'step.start', async (tx, act) => {
      await this.put(tx, act, run, call, { status: 'started', attempt });
      const data = { name, attempt };
      this.recorder.record(tx, act, run.row, { event: 'step.started', data, action: 'step.start', facts: data });
    });
  }

  async stepDone(run: Run, call: OpenCall, name: string, attempt: number, value: JsonValue): Promise<void> {
    const work = async (tx: WriteTx, act: Act) => {
      await this.put(tx, act, run, call, { status: 'done', value, attempt });
      const data = { name, attempt };
      this.recorder.record(tx, act, run.row, { event: 'step.completed', data, action: 'step.complete', facts: data });
    };
    await this.unit(run, call, 'step.complete', work, run.hooks(call, { isFinished: true }));
    run.replay.hide(call.key);
  }

  /** `retry`: when it is tried again; what the last attempt failed by is dropped, so that it can go otherwise. */
  async stepFailed(
    run: Run,
    call: OpenCall,
    step: { readonly name: string; readonly attempt: number },
    error: unknown,
    retry?: { readonly inMs: number; readonly drop: readonly string[] },
  ): Promise<number | undefined> {
    const { name, attempt } = step;
    const work = async (tx: WriteTx, act: Act) => {
      const retryAt = retry === undefined ? undefined : act.at + retry.inMs;
      const next: Told =
        retryAt === undefined
          ? { status: 'failed', value: recordedError(error), attempt }
          : { status: 'backoff', attempt: attempt + 1, dueAt: retryAt };
      for (const key of retry?.drop ?? []) await this.entries.remove(tx, run.row.n, key);
      await this.put(tx, act, run, call, next);
      const data = { name, attempt, code: codeOfError(error), retryAt: retryAt ?? null };
      this.recorder.record(tx, act, run.row, { event: 'step.failed', data, action: 'step.fail', facts: data });
      return retryAt;
    };
    const retryAt = await this.unit(run, call, 'step.fail', work, run.hooks(call, { isFinished: true }));
    if (retry !== undefined) run.replay.again(call.key, retry.drop);
    return retryAt;
  }

  unit<T>(
    run: Run,
    call: OpenCall,
    action: AuditAction,
    work: (tx: WriteTx, act: Act) => Promise<T>,
    hooks: RunHooks = run.hooks(call),
  ): Promise<T> {
    const { pid } = run;
    const caller = { face: 'process', pid, run: hooks } as const;
    return this.units.commit({ caller, actor: pid, action, target: pid }, work);
  }

  private async put(tx: WriteTx, act: Act, run: Run, { key }: OpenCall, told: Told): Promise<void> {
    const { status, value = null, attempt = 1, dueAt = null } = told;
    const isAnswer = status === 'done' || status === 'failed';
    const entry: RunEntry = {
      process: run.row.n,
      key,
      seq: isAnswer ? run.nextAnswer() : 0,
      status,
      value,
      attempt,
      dueAt,
      fence: run.fence,
      at: act.at,
    };
    await this.entries.put(tx, entry);
    if (isAnswer) run.replay.answer(entry);
    await this.resetRecoveries(tx, run);
  }

  /** A run that writes something down is not one that is started again and again in vain. */
  private async resetRecoveries(tx: WriteTx, { pid }: Run): Promise<void> {
    const row = await this.processes.find(tx, pid);
    if (row === undefined || row.recoveries === 0) return;
    await saveProcess(this.processes, tx, { ...row, recoveries: 0, version: row.version + 1 });
  }
}

/** Whether a failure is what the call was answered, and not that it could not be made or was not let be done. */
export function isAnswer(run: Run, error: unknown): boolean {
  return run.over === undefined && !(error instanceof StoreError) && !isOfShutdown(run, error);
}

/** Whether something failed because the node shuts down: the next run does it again, or hears that nobody knows. */
export function isOfShutdown(run: Run, error: unknown): boolean {
  return run.isClosing && !run.isStopping && stopCodes.has(codeOfError(error));
}

/** What work that heeds `ctx.signal` throws. */
const stopCodes: ReadonlySet<string> = new Set(['SHUTDOWN', 'CANCELLED', 'AbortError', 'ABORT_ERR']);

export function stepOutcomeUnknown(name: string): ProcessError {
  return new ProcessError('OUTCOME_UNKNOWN', `Whether ${JSON.stringify(name)} has happened is not known.`, {
    facts: { step: name },
    hint: 'The program ended while it was under way, and it may happen only once: find out what happened, then decide.',
  });
}
