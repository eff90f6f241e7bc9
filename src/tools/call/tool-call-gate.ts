import { inject, injectable } from 'inversify';
import { z } from 'zod';
import type { Pid } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { CombinedSignal } from '../../base/on-abort.js';
import { isAbortSignal, label, parseSpec, storedText, timeLimitMs } from '../../base/spec.js';
import type { KernelEvent } from '../../events/event.js';
import { EventFeed } from '../../events/event-feed.js';
import type { ExternalWork } from '../../kernel/face/open-tool-call.js';
import { nameCause } from '../../kernel/face/process-faces.js';
import { nameOfTool, type ToolInfo } from '../../kernel/face/process-tools.js';
import type { GatedCall, ToolGate } from '../../kernel/face/tool-gate.js';
import type { ProcessRow } from '../../kernel/process/process.js';
import { ProcessLookup } from '../../kernel/process/process-lookup.js';
import { NodeLease } from '../../runtime/node/node-lease.js';
import { type Call, type ProcessCaller, timeLimitOf } from '../../unit/caller.js';
import { Timers } from '../../unit/timers.js';
import { Units } from '../../unit/units.js';
import type { ParsedTool } from '../tool-definition.js';
import {
  callCancelled,
  externalToolCalled,
  noSuchTool,
  otherToolRegistered,
  ownToolOpened,
  toolTimeout,
} from '../tool-errors.js';
import { ToolRegistry } from '../tool-registry.js';
import { CallTimeLimit } from './call-time-limit.js';
import { ToolIntents, toolCall } from './intents.js';
import { ToolOutcomes } from './outcomes.js';
import { ToolConcurrency } from './tool-concurrency.js';
import { ToolRunner } from './tool-runner.js';

/** For a tool without a limit of its own. */
const timeoutMsDefault = 300_000;

const toolName = storedText.max(256);
const callOptions = z.strictObject({
  using: label.optional(),
  timeoutMs: timeLimitMs.optional(),
  signal: z.custom<AbortSignal>(isAbortSignal, 'is not an AbortSignal').optional(),
});

/**
 * Every tool call goes through here, as CallRequest, PreparedCall, CallIntent, RunResult and CallOutcome: the arguments are
 * validated, the call is authorized and its intent recorded in one commit, the tool runs, and its outcome is recorded.
 */
@injectable()
export class ToolCallGate implements ToolGate {
  constructor(
    @inject(ToolRegistry) private readonly registry: ToolRegistry,
    @inject(Units) private readonly units: Units,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(NodeLease) private readonly lease: NodeLease,
    @inject(ToolConcurrency) private readonly concurrency: ToolConcurrency,
    @inject(Timers) private readonly timers: Timers,
    @inject(EventFeed) private readonly feed: EventFeed,
    @inject(ToolIntents) private readonly intents: ToolIntents,
    @inject(ToolRunner) private readonly runner: ToolRunner,
    @inject(ToolOutcomes) private readonly outcomes: ToolOutcomes,
  ) {}

  async list(caller: ProcessCaller): Promise<ToolInfo[]> {
    return this.units.read(callOf(caller), async (tx) => {
      const { image } = await this.lookup.getLive(tx, caller.pid);
      return this.registry.listVisible(image);
    });
  }

  async call({ caller, face, tool: given, args, options, run, onEdited, external }: GatedCall): Promise<JsonValue> {
    const { pid } = caller;
    const name = parseSpec(toolName, nameOfTool(given), 'name');
    const { using, timeoutMs, signal } = parseSpec(callOptions, options, 'options', isAbortSignal);
    const timeLimit = timeLimitOf(timeoutMs, () => toolTimeout(name, timeoutMs ?? 0));
    const call: Call = { ...callOf(caller), kind: 'act', signal, timeLimit };
    using stop = this.stopSignal(pid, name, run?.signal);
    const { row, tool } = await this.findTool(call, pid, name, given);
    assertRunBy(tool, external);
    const limit = new CallTimeLimit(this.timers, tool.name, shorterLimit(tool, timeoutMs));
    using ends = new CombinedSignal([stop.signal, signal, limit.signal]);
    using slot = await limit.count(() => this.concurrency.acquire(tool, pid, ends.signal));
    await this.lease.acquire();
    const isRepeated = run !== undefined && run.attempt > 1;
    const intent = await this.intents.record({ call, tool, row, args, using, isRepeated, paid: run?.paid, limit });
    if (intent.edit !== undefined) onEdited?.(intent.edit);
    const result = await this.runner.run(intent.prepared, {
      face: nameCause(face, intent.record),
      effectId: intent.effectId,
      external,
      slot,
      stop: stop.signal,
      attempt: run?.attempt ?? 1,
      idempotencyKey: run?.idempotencyKey ?? intent.effectId,
      limit,
      callerSignal: signal,
      requireArgs: (otherArgs, callSignal) => this.intents.requireArgs(intent, otherArgs, callSignal),
    });
    return this.outcomes.settle({ ...intent, call, result });
  }

  /**
   * In one unit, so that a refusal is recorded. Throws NO_SUCH_TOOL, also for a tool that the image does not show, CONFLICT
   * for one that is given itself while another has its name, WAIT_CYCLE for one that calls itself and has no slot left.
   */
  private findTool(call: Call, pid: Pid, name: string, given: unknown): Promise<{ row: ProcessRow; tool: ParsedTool }> {
    return this.units.read(call, async (tx) => {
      const row = await this.lookup.getLive(tx, pid);
      const tool = this.registry.findVisible(row.image, name);
      if (tool === undefined) {
        this.registry.noteMissed(name, pid);
        throw noSuchTool(pid, name, this.registry.visibleNames(row.image));
      }
      if (typeof given === 'object' && !this.registry.isRegistered(given)) throw otherToolRegistered(name);
      this.concurrency.assertNotNested(tool, pid);
      return { row, tool };
    });
  }

  /** Aborts when the process is stopped, ends or gets another program. The signal of a run does that itself. */
  private stopSignal(pid: Pid, tool: string, runSignal: AbortSignal | undefined): StopSignal {
    if (runSignal !== undefined) return { signal: runSignal, [Symbol.dispose]: () => undefined };
    const controller = new AbortController();
    const abort = (event: KernelEvent) => {
      if (event.pid === pid) controller.abort(callCancelled(tool, pid));
    };
    const handlers = { 'process.stopping': abort, 'process.exited': abort, 'process.execed': abort };
    const subscription = this.feed.subscribe('toolCalls', handlers);
    return { signal: controller.signal, [Symbol.dispose]: () => subscription[Symbol.dispose]() };
  }
}

/** Throws INVALID_INPUT for a tool that is to be opened and was called, or the other way round. */
function assertRunBy({ name, run }: ParsedTool, external: ExternalWork | undefined): void {
  if (run === undefined && external === undefined) throw externalToolCalled(name);
  if (run !== undefined && external !== undefined) throw ownToolOpened(name);
}

/** The shorter one of the limits of the call and of the tool. */
function shorterLimit(tool: ParsedTool, timeoutMs: number | undefined): number {
  return Math.min(timeoutMs ?? Number.POSITIVE_INFINITY, tool.timeoutMs ?? timeoutMs ?? timeoutMsDefault);
}

/** Disposing of it ends the subscription behind it. */
interface StopSignal extends Disposable {
  readonly signal: AbortSignal;
}

function callOf(caller: ProcessCaller): Call {
  const { pid } = caller;
  return { caller, actor: pid, action: toolCall, target: pid };
}
