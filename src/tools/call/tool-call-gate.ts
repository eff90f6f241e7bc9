import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { isAbortSignal } from '../../base/abort-signal.js';
import type { JsonValue } from '../../base/json.js';
import { label, parseSpec, timeLimitMs } from '../../base/spec.js';
import type { ToolInfo } from '../../kernel/face/process-tools.js';
import type { GatedCall, ToolGate } from '../../kernel/face/tool-gate.js';
import { ProcessLookup } from '../../kernel/process/process-lookup.js';
import { NodeLease } from '../../runtime/node/node-lease.js';
import type { Call, ProcessCaller } from '../../unit/caller.js';
import { Units } from '../../unit/units.js';
import type { ParsedTool } from '../tool-definition.js';
import { noSuchTool } from '../tool-errors.js';
import { ToolIntents, toolCall } from './intents.js';
import { ToolOutcomes } from './outcomes.js';
import { StopSignals } from './stop-signals.js';
import { ToolConcurrency } from './tool-concurrency.js';
import { ToolRunner } from './tool-runner.js';
import { VisibleTools } from './visible-tools.js';

/** How long a tool may take that does not say it. */
const timeoutMsDefault = 300_000;

const toolName = z.string().max(256);
const callOptions = z.strictObject({
  using: label.optional(),
  timeoutMs: timeLimitMs.optional(),
  signal: z.custom<AbortSignal>(isAbortSignal, 'is not an AbortSignal').optional(),
});

/**
 * The gate that every call of a tool goes through: arguments by schema, authority over the tool and over what it touches,
 * budget, the intent on record; then the tool runs, and what became of it is on record as well.
 */
@injectable()
export class ToolCallGate implements ToolGate {
  constructor(
    @inject(VisibleTools) private readonly tools: VisibleTools,
    @inject(Units) private readonly units: Units,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(NodeLease) private readonly lease: NodeLease,
    @inject(ToolConcurrency) private readonly places: ToolConcurrency,
    @inject(StopSignals) private readonly stops: StopSignals,
    @inject(ToolIntents) private readonly intents: ToolIntents,
    @inject(ToolRunner) private readonly runner: ToolRunner,
    @inject(ToolOutcomes) private readonly outcomes: ToolOutcomes,
  ) {}

  async list(caller: ProcessCaller): Promise<ToolInfo[]> {
    return this.units.read(callOf(caller), async (tx) => {
      const { image } = await this.lookup.live(tx, caller.pid);
      return this.tools.list(image);
    });
  }

  async call({ caller, face, name: given, args, options: rest, run }: GatedCall): Promise<JsonValue> {
    const name = parseSpec(toolName, given, 'name');
    const { using, timeoutMs, signal } = parseSpec(callOptions, rest, 'options', isAbortSignal);
    const call = callOf(caller);
    const tool = await this.tool(call, caller, name);
    using stop = this.stops.of(caller.pid, name, run?.signal);
    using _place = await this.places.take(
      tool,
      caller.pid,
      AbortSignal.any([stop.signal, ...(signal === undefined ? [] : [signal])]),
    );
    await this.lease.hold();
    const isRepeated = run !== undefined && run.attempt > 1;
    const begun = await this.intents.begin({ call: { ...call, signal }, tool, args, using, isRepeated });
    const ran = await this.runner.run(begun.shaped, {
      face,
      signal: stop.signal,
      attempt: run?.attempt ?? 1,
      idempotencyKey: run?.idempotencyKey ?? begun.effect,
      timeoutMs: Math.min(timeoutMs ?? Number.POSITIVE_INFINITY, tool.timeoutMs ?? timeoutMs ?? timeoutMsDefault),
      abandoned: signal,
    });
    return this.outcomes.settle({ ...begun, call, ran });
  }

  /** Throws NO_SUCH_TOOL, also for one that the image does not show. */
  private tool(call: Call, { pid }: ProcessCaller, name: string): Promise<ParsedTool> {
    return this.units.read(call, async (tx) => {
      const { image } = await this.lookup.live(tx, pid);
      const tool = this.tools.find(image, name);
      if (tool !== undefined) return tool;
      throw noSuchTool(pid, name, this.tools.names(image));
    });
  }
}

function callOf(caller: ProcessCaller): Call {
  const { pid } = caller;
  return { caller, actor: pid, action: toolCall, target: pid };
}
