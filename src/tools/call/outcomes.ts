import { inject, injectable } from 'inversify';
import { Clock } from '../../base/clock.js';
import { type KernelError, StoreError } from '../../base/errors.js';
import type { ObjectId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { Store, type WriteTx } from '../../base/store.js';
import { CapabilityRepository } from '../../capability/holding/capability-repository.js';
import { Effects } from '../../kernel/effect/effects.js';
import type { ToolStage } from '../../kernel/face/tool-gate.js';
import { isTerminal, type ProcessRow } from '../../kernel/process/process.js';
import { ProcessRepository } from '../../kernel/process/process-repository.js';
import { terminated } from '../../kernel/process/transitions.js';
import { Objects } from '../../memory/object/objects.js';
import { ViewRepository } from '../../memory/view/view-repository.js';
import type { Act } from '../../unit/act.js';
import type { Call } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import type { BegunCall } from './intents.js';
import type { RunResult } from './tool-runner.js';

/** A call that has been carried out. */
export interface CallResult extends Omit<BegunCall, 'stage'> {
  readonly call: Call;
  readonly ran: RunResult;
}

/** How far the call has come; `ended`: the row of a process that has ended meanwhile. */
type Written = ToolStage & { readonly ended: ProcessRow | undefined };

/** Writes down what became of calls: the record, the bill, and the result as an object of the process. */
@injectable()
export class ToolOutcomes {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: Clock,
    @inject(Effects) private readonly effects: Effects,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(CapabilityRepository) private readonly capabilities: CapabilityRepository,
    @inject(Objects) private readonly objects: Objects,
    @inject(ViewRepository) private readonly views: ViewRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /**
   * Gives the result, or throws why there is none. A process that has ended meanwhile, or whose run does not count any
   * more, is refused the result, and the outcome is on record all the same.
   */
  async settle(carried: CallResult): Promise<JsonValue> {
    const { ran } = carried;
    const { ended } = await this.written(carried);
    if (ended !== undefined) throw terminated(ended);
    if ('error' in ran) throw ran.error;
    return ran.value;
  }

  private async written(carried: CallResult): Promise<Written> {
    try {
      return await this.units.commit(carried.call, (tx, act) => this.write(tx, act, carried));
    } catch (error) {
      if (!(error instanceof StoreError)) await this.settleAlone(carried);
      throw error;
    }
  }

  private async settleAlone(carried: CallResult): Promise<void> {
    const { pid } = carried.shaped.place;
    const act: Act = { actor: pid, via: 'process', at: this.clock.now() };
    await this.store.write((tx) => this.write(tx, act, carried));
  }

  private async write(tx: WriteTx, act: Act, { shaped, effect, generation, ran }: CallResult): Promise<Written> {
    const { tool, place } = shaped;
    const row = await this.processes.find(tx, place.pid);
    const live = row === undefined || isTerminal(row.status) ? undefined : row;
    const isWanted = live?.generation === generation && 'value' in ran;
    const object = isWanted ? await this.keep(tx, act, live, ran.value) : undefined;
    await this.effects.finish(tx, act, effect, {
      ...outcomeOf(ran),
      used: 'value' in ran ? ran.used : { toolCalls: 1 },
      facts: { tool: tool.name, effect: shaped.effect },
      ...(object === undefined ? {} : { object }),
    });
    const ended = live === undefined ? row : undefined;
    if ('error' in ran) return { stage: 'failed', error: ran.error, ended };
    return { stage: 'returned', value: ran.value, ended };
  }

  /** The result is an object of the process, in its view. No rule stands against what has happened already. */
  private async keep(tx: WriteTx, { at }: Act, row: ProcessRow, value: JsonValue): Promise<ObjectId> {
    const { pid } = row;
    const object = this.objects.newId();
    await this.objects.create(tx, pid, object, 'tool_result', value, at);
    const [own] = await this.capabilities.heldOn(tx, pid, [`ns:process/${pid}/**`]);
    if (own !== undefined) {
      await this.views.addEntry(tx, row.view, { object, capability: own.id, rights: own.rights });
      this.recorder.event(tx, { type: 'object.created', at, pid, data: { object, type: 'tool_result' } });
    }
    return object;
  }
}

function outcomeOf(ran: RunResult): { readonly outcome: 'ok' | 'failed' | 'unknown'; readonly code?: string } {
  if ('value' in ran) return { outcome: 'ok' };
  const { code } = ran.error satisfies KernelError;
  return { outcome: ran.isOver ? 'failed' : 'unknown', code };
}
