import { inject, injectable } from 'inversify';
import { Clock } from '../../base/clock.js';
import { type KernelError, StoreError } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import { Store, type WriteTx } from '../../base/store.js';
import { CapabilityRepository } from '../../capability/holding/capability-repository.js';
import type { Usage } from '../../kernel/budget/budget.js';
import { Effects } from '../../kernel/effect/effects.js';
import type { ToolStage } from '../../kernel/face/tool-gate.js';
import { isTerminal, type ProcessRow } from '../../kernel/process/process.js';
import { ProcessRepository } from '../../kernel/process/process-repository.js';
import { processTerminated } from '../../kernel/process/transitions.js';
import type { NewObject } from '../../memory/object/object.js';
import { ObjectWriter, storedBytesOf } from '../../memory/object/object-writer.js';
import { ViewRepository } from '../../memory/view/view-repository.js';
import type { Act } from '../../unit/act.js';
import type { Call } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import type { CallIntent } from './intents.js';
import type { RunResult } from './tool-runner.js';

/** A call whose tool has run. */
export interface FinishedCall extends Omit<CallIntent, 'stage'> {
  readonly call: Call;
  readonly result: RunResult;
}

/** The outcome as it is recorded. `ended` is the row of the process if it has ended while the tool ran. */
type CallOutcome = ToolStage & { readonly ended: ProcessRow | undefined };

/** Records the outcomes of calls, settles their cost, and keeps the result as an object of the process. */
@injectable()
export class ToolOutcomes {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: Clock,
    @inject(Effects) private readonly effects: Effects,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(ObjectWriter) private readonly objects: ObjectWriter,
    @inject(ViewRepository) private readonly views: ViewRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /**
   * Returns the value, or throws the error of the call. Also throws PROCESS_TERMINATED for a process that has ended
   * while the tool ran, and LEASE_LOST for a run that no longer holds the process; the outcome is recorded in any case.
   */
  async settle(finished: FinishedCall): Promise<JsonValue> {
    const { result } = finished;
    const { ended } = await this.commit(finished);
    if (ended !== undefined) throw processTerminated(ended);
    if ('error' in result) throw result.error;
    return result.value;
  }

  private async commit(finished: FinishedCall): Promise<CallOutcome> {
    try {
      return await this.units.commit({ ...finished.call, kind: 'record' }, (tx, act) => this.record(tx, act, finished));
    } catch (error) {
      if (!(error instanceof StoreError)) await this.recordWithoutRun(finished);
      throw error;
    }
  }

  /** For a run that was refused by its own hooks. */
  private async recordWithoutRun(finished: FinishedCall): Promise<void> {
    const { pid } = finished.prepared.place;
    const act: Act = { actor: pid, via: 'process', at: this.clock.now() };
    await this.store.write((tx) => this.record(tx, act, finished));
  }

  private async record(tx: WriteTx, act: Act, finished: FinishedCall): Promise<CallOutcome> {
    const { prepared, effectId, generation, result, isPaid } = finished;
    const { tool, place } = prepared;
    const row = await this.processes.find(tx, place.pid);
    const live = row === undefined || isTerminal(row.status) ? undefined : row;
    const isSameProgram = live?.generation === generation;
    const object = isSameProgram && 'value' in result ? await this.keepValue(tx, act, live, result.value) : undefined;
    const storedBytes = object === undefined ? 0 : storedBytesOf(object);
    const used = 'value' in result ? withStored(result.used, storedBytes) : { toolCalls: 1 };
    await this.effects.finish(tx, act, effectId, {
      ...outcomeOf(result),
      used: isPaid ? { ...used, toolCalls: (used.toolCalls ?? 1) - 1 } : used,
      facts: { tool: tool.name, effect: prepared.effect },
      ...(object === undefined ? {} : { object: object.id }),
    });
    const ended = live === undefined ? row : undefined;
    if ('error' in result) return { stage: 'failed', error: result.error, ended };
    return { stage: 'returned', value: result.value, ended };
  }

  /** Creates an object of the process in its view. Not subject to rules: the effect has already happened. */
  private async keepValue(tx: WriteTx, { at }: Act, row: ProcessRow, value: JsonValue): Promise<NewObject> {
    const { pid } = row;
    const object = this.objects.prepare(pid, this.objects.newId(), 'tool_result', value, at);
    await this.objects.insert(tx, object);
    const [own] = await this.capabilities.findByResource(tx, pid, [`ns:process/${pid}/**`]);
    if (own !== undefined) {
      await this.views.addEntry(tx, row.view, { object: object.id, capability: own.id, rights: own.rights });
      this.recorder.recordEvent(tx, {
        type: 'object.created',
        at,
        pid,
        data: { object: object.id, type: 'tool_result' },
      });
    }
    return object;
  }
}

function withStored(used: Usage, storedBytes: number): Usage {
  return { ...used, storedBytes: (used.storedBytes ?? 0) + storedBytes };
}

function outcomeOf(result: RunResult): { readonly outcome: 'ok' | 'failed' | 'unknown'; readonly code?: string } {
  if ('value' in result) return { outcome: 'ok' };
  const { code } = result.error satisfies KernelError;
  return { outcome: result.outcome, code };
}
