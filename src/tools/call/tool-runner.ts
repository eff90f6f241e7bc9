import { inject, injectable } from 'inversify';
import { KernelError } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import { Logger } from '../../base/logger.js';
import { CombinedSignal, onAbort } from '../../base/on-abort.js';
import type { Usage } from '../../kernel/budget/budget.js';
import type { ExternalWork } from '../../kernel/face/open-tool-call.js';
import type { ProcessFace } from '../../kernel/face/process-face.js';
import { parse, settledUsageSpec } from '../../kernel/specs.js';
import { PayloadParser } from '../../memory/object/object-writer.js';
import type { ToolContext } from '../tool.js';
import type { ParsedTool } from '../tool-definition.js';
import { callCancelled, invalidResult, toolFailed } from '../tool-errors.js';
import type { PreparedCall } from './call-preparer.js';
import { type CallEnds, validateWithin } from './call-time-limit.js';
import type { ToolSlot } from './tool-concurrency.js';

/** The circumstances of one run of a tool. */
export interface RunOptions extends CallEnds {
  readonly face: ProcessFace;
  readonly slot: ToolSlot;
  /** Aborts when the process is stopped, and when the kernel that runs its body shuts down. */
  readonly stop: AbortSignal;
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly effectId: string;
  /** The work of an open call, which takes the place of the code of the tool. */
  readonly external: ExternalWork | undefined;
  /** Requires that the call is allowed with other arguments. */
  readonly requireArgs: (args: JsonValue, signal: AbortSignal) => Promise<void>;
}

/**
 * The result of a run. `outcome` is what goes on record with an error: `ok` when the tool has done its work and only its result
 * is no JSON, `unknown` when its code has not ended, so that it may have further effects.
 */
export type RunResult =
  | { readonly value: JsonValue; readonly used: Usage }
  | { readonly error: KernelError; readonly outcome: 'ok' | 'failed' | 'unknown' };

/** The end of the code of a tool, or the reason why nobody waits for it any more. */
type RunEnd = { readonly returned: unknown } | { readonly thrown: unknown } | { readonly abandoned: KernelError };

/** For a tool whose process was stopped: if it ends within this time, it has its own outcome. */
const stopReactionMs = 250;

/** Runs the code of tools. It is not trusted: it may throw anything, return anything and never end. */
@injectable()
export class ToolRunner {
  constructor(
    @inject(PayloadParser) private readonly payloads: PayloadParser,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  /** Never throws: an error is part of the result. A result that comes after the call was given up is dropped. */
  async run(call: PreparedCall, options: RunOptions): Promise<RunResult> {
    const { tool, place, args } = call;
    const { stop, limit, callerSignal } = options;
    if (stop.aborted || callerSignal?.aborted === true)
      return { error: callCancelled(tool.name, place.pid), outcome: 'failed' };
    if (limit.signal.aborted) return { error: limit.signal.reason as KernelError, outcome: 'failed' };
    using ends = new CombinedSignal([stop, callerSignal, limit.signal]);
    const { external, effectId } = options;
    const work = options.slot.run(async () =>
      external === undefined
        ? tool.run?.(args as never, toContext(call, options, ends.signal))
        : external.run({ id: effectId, signal: ends.signal }),
    );
    const end = await limit.count(() => waitForEnd(work, options, () => callCancelled(tool.name, place.pid)));
    if ('abandoned' in end) return { error: end.abandoned, outcome: 'unknown' };
    if ('thrown' in end) return { error: errorOf(call, options, end.thrown), outcome: 'failed' };
    try {
      const parsed = await this.parseResult(tool, end.returned, options);
      return 'error' in parsed
        ? parsed
        : { ...parsed, used: withCall(external?.usage() ?? this.costOf(tool, args, parsed.value)) };
    } catch (error) {
      return { error: errorOf(call, options, error), outcome: 'failed' };
    }
  }

  /** The error is TOOL_FAILED for a value that is no JSON, or does not fit the output schema. Throws as `validateWithin`. */
  private async parseResult(
    tool: ParsedTool,
    returned: unknown,
    ends: CallEnds,
  ): Promise<{ readonly value: JsonValue } | Extract<RunResult, { error: unknown }>> {
    // The tool has done its work although its result is no JSON; a result that does not fit the schema is a failure of the tool.
    let outcome: 'ok' | 'failed' = 'ok';
    try {
      const value = this.payloads.parseSerialized(returned, 'result');
      if (tool.output === undefined) return { value };
      outcome = 'failed';
      const owner = { path: 'result', hint: '', facts: { tool: tool.name } };
      return { value: this.payloads.parse(await validateWithin(tool.output, value, owner, ends), 'result') };
    } catch (error) {
      if (ends.limit.signal.aborted || !(error instanceof KernelError)) throw error;
      return { error: invalidResult(tool.name, error), outcome };
    }
  }

  /** Nothing but the call itself when `cost` of the tool fails: the effect has already happened. */
  private costOf({ name, cost }: ParsedTool, args: JsonValue, result: JsonValue): Usage {
    try {
      return cost === undefined ? {} : (parse(settledUsageSpec, cost(args as never, result as never), 'cost') as Usage);
    } catch (error) {
      this.logger.error({ tool: name, error: String(error) }, 'the cost function of a tool failed');
      return {};
    }
  }
}

/** The usage with the call itself. */
function withCall(used: Usage): Usage {
  return { ...used, toolCalls: (used.toolCalls ?? 0) + 1 };
}

/**
 * Waits for the code of the tool; not any longer when the time is over, when the caller has given the call up, and a moment
 * after the process was stopped. While the kernel shuts down it goes on waiting.
 */
async function waitForEnd(
  work: Promise<unknown>,
  { stop, limit, callerSignal }: RunOptions,
  cancelled: () => KernelError,
): Promise<RunEnd> {
  const listeners: Disposable[] = [];
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<RunEnd>((resolve) => {
      work.then(
        (returned) => resolve({ returned }),
        (thrown: unknown) => resolve({ thrown }),
      );
      const abandon = () => resolve({ abandoned: cancelled() });
      listeners.push(
        onAbort(limit.signal, () => resolve({ abandoned: limit.signal.reason as KernelError })),
        onAbort(callerSignal, abandon),
        onAbort(stop, () => {
          if (!isShutdown(stop)) timer = setTimeout(abandon, stopReactionMs);
        }),
      );
    });
  } finally {
    clearTimeout(timer);
    for (const listener of listeners) listener[Symbol.dispose]();
  }
}

function isShutdown({ reason }: AbortSignal): boolean {
  return reason instanceof KernelError && reason.code === 'SHUTDOWN';
}

function errorOf({ tool, place }: PreparedCall, { stop, callerSignal }: RunOptions, error: unknown): KernelError {
  const isGivenUp = stop.aborted || callerSignal?.aborted === true;
  if (isGivenUp && !(error instanceof KernelError)) return callCancelled(tool.name, place.pid);
  return toolFailed(tool.name, error);
}

function toContext({ place, resources, files }: PreparedCall, options: RunOptions, signal: AbortSignal): ToolContext {
  const { face, attempt, idempotencyKey } = options;
  return Object.freeze({
    ...place,
    signal,
    attempt,
    idempotencyKey,
    process: face,
    resources,
    files,
    require: (right, resource, args) => face.capabilities.require(right, resource, args),
    requireArgs: (args) => options.requireArgs(args, signal),
  } satisfies ToolContext);
}
