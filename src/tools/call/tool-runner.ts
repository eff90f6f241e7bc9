import { inject, injectable } from 'inversify';
import { KernelError } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import { Logger } from '../../base/logger.js';
import type { Usage } from '../../kernel/budget/budget.js';
import type { ProcessFace } from '../../kernel/face/process-face.js';
import { parse, settledUsageSpec } from '../../kernel/specs.js';
import { PayloadParser } from '../../memory/object/object-writer.js';
import { validate } from '../../runtime/image/schema.js';
import type { ToolContext } from '../tool.js';
import type { ParsedTool } from '../tool-definition.js';
import { callCancelled, invalidResult, toolFailed, toolTimeout } from '../tool-errors.js';
import type { PreparedCall } from './call-preparer.js';

/** The circumstances of one run of a tool. */
export interface RunOptions {
  readonly face: ProcessFace;
  /** Aborts when the process is stopped. */
  readonly signal: AbortSignal;
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly timeoutMs: number;
  /** Aborts when the caller gives the call up. */
  readonly callerSignal?: AbortSignal | undefined;
}

/** The result of a run. `isOver`: the code of the tool has ended, so that it has no further effects. */
export type RunResult =
  | { readonly value: JsonValue; readonly used: Usage }
  | { readonly error: KernelError; readonly isOver: boolean };

/** Runs the code of tools. It is not trusted: it may throw anything, return anything and never end. */
@injectable()
export class ToolRunner {
  constructor(
    @inject(PayloadParser) private readonly payloads: PayloadParser,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  /** Never throws: an error is part of the result. */
  async run(call: PreparedCall, options: RunOptions): Promise<RunResult> {
    const { tool, place, args } = call;
    const { timeoutMs, callerSignal } = options;
    if (isGivenUp(options)) return { error: callCancelled(tool.name, place.pid), isOver: true };
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(toolTimeout(tool.name, timeoutMs)), timeoutMs);
    const ends = [timeout.signal, ...(callerSignal === undefined ? [] : [callerSignal])];
    const signal = AbortSignal.any([options.signal, ...ends]);
    const work = (async () => tool.run(args as never, toContext(call, options, signal)))();
    try {
      const returned = await Promise.race([work, ...ends.map(rejectOnAbort)]);
      const value = await this.parseResult(tool, returned);
      return { value, used: this.costOf(tool, args, value) };
    } catch (error) {
      if (timeout.signal.aborted) return { error: timeout.signal.reason as KernelError, isOver: false };
      if (callerSignal?.aborted === true) return { error: callCancelled(tool.name, place.pid), isOver: false };
      const isStopped = options.signal.aborted && !(error instanceof KernelError);
      return { error: isStopped ? callCancelled(tool.name, place.pid) : toolFailed(tool.name, error), isOver: true };
    } finally {
      clearTimeout(timer);
      // It may still fail after the race is over, and nobody waits for it then.
      work.catch(() => undefined);
    }
  }

  /** Throws TOOL_FAILED for a value that is not JSON, or does not fit the output schema. */
  private async parseResult(tool: ParsedTool, returned: unknown): Promise<JsonValue> {
    try {
      const value = this.payloads.parse(returned ?? null, 'result');
      if (tool.output === undefined) return value;
      const owner = { path: 'result', hint: '', facts: { tool: tool.name } };
      return this.payloads.parse(await validate(tool.output, value, owner), 'result');
    } catch (error) {
      throw error instanceof KernelError ? invalidResult(tool.name, error) : error;
    }
  }

  /** Just the call itself when `cost` of the tool fails: the effect has already happened. */
  private costOf({ name, cost }: ParsedTool, args: JsonValue, result: JsonValue): Usage {
    try {
      const extra = cost === undefined ? {} : parse(settledUsageSpec, cost(args as never, result as never), 'cost');
      return { ...(extra as Usage), toolCalls: ((extra as Usage).toolCalls ?? 0) + 1 };
    } catch (error) {
      this.logger.error({ tool: name, error: String(error) }, 'the cost function of a tool failed');
      return { toolCalls: 1 };
    }
  }
}

function isGivenUp({ signal, callerSignal }: RunOptions): boolean {
  return signal.aborted || callerSignal?.aborted === true;
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
  } satisfies ToolContext);
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
