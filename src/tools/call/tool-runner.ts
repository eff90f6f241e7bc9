import { inject, injectable } from 'inversify';
import { KernelError } from '../../base/errors.js';
import type { JsonValue } from '../../base/json.js';
import { Logger } from '../../base/logger.js';
import type { Usage } from '../../kernel/budget/budget.js';
import type { ProcessFace } from '../../kernel/face/process-face.js';
import { parse, usageSpec } from '../../kernel/specs.js';
import { Payloads } from '../../memory/payloads.js';
import { validated } from '../../runtime/image/validated.js';
import type { ToolContext } from '../tool.js';
import type { ParsedTool } from '../tool-definition.js';
import { badResult, givenUp, toolFailed, toolTimeout } from '../tool-errors.js';
import type { PreparedCall } from './call-preparer.js';

/** How a tool is run this time. */
export interface Running {
  readonly face: ProcessFace;
  readonly signal: AbortSignal;
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly timeoutMs: number;
  /** Nobody wants the result any more. */
  readonly abandoned?: AbortSignal | undefined;
}

/** What came of it. `isOver`: the tool itself has ended, so that nothing more can happen. */
export type RunResult =
  | { readonly value: JsonValue; readonly used: Usage }
  | { readonly error: KernelError; readonly isOver: boolean };

/** Runs the code of tools, which is others' code: it may throw anything, give back anything and never end. */
@injectable()
export class ToolRunner {
  constructor(
    @inject(Payloads) private readonly payloads: Payloads,
    @inject(Logger) private readonly logger: Logger,
  ) {}

  async run(call: PreparedCall, running: Running): Promise<RunResult> {
    const { tool, place, args } = call;
    const { timeoutMs, abandoned } = running;
    if (isGivenUp(running)) return { error: givenUp(tool.name, place.pid), isOver: true };
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(toolTimeout(tool.name, timeoutMs)), timeoutMs);
    const ends = [late.signal, ...(abandoned === undefined ? [] : [abandoned])];
    const signal = AbortSignal.any([running.signal, ...ends]);
    const work = (async () => tool.run(args as never, this.context(call, running, signal)))();
    try {
      const given = await Promise.race([work, ...ends.map(aborted)]);
      const value = await this.result(tool, given);
      return { value, used: this.used(tool, args, value) };
    } catch (error) {
      if (late.signal.aborted) return { error: late.signal.reason as KernelError, isOver: false };
      if (abandoned?.aborted === true) return { error: givenUp(tool.name, place.pid), isOver: false };
      const isStopped = running.signal.aborted && !(error instanceof KernelError);
      return { error: isStopped ? givenUp(tool.name, place.pid) : toolFailed(tool.name, error), isOver: true };
    } finally {
      clearTimeout(timer);
      // What it does after nobody waits for it any more concerns nobody.
      work.catch(() => undefined);
    }
  }

  private context({ place, resources, files }: PreparedCall, running: Running, signal: AbortSignal): ToolContext {
    const { face, attempt, idempotencyKey } = running;
    return {
      ...place,
      signal,
      attempt,
      idempotencyKey,
      process: face,
      resources,
      files,
      require: (right, resource, args) => face.capabilities.require(right, resource, args),
    };
  }

  private async result(tool: ParsedTool, given: unknown): Promise<JsonValue> {
    try {
      const value = this.payloads.copied(given ?? null, 'result');
      if (tool.output === undefined) return value;
      const owner = { path: 'result', hint: '', facts: { tool: tool.name } };
      return this.payloads.copied(await validated(tool.output, value, owner), 'result');
    } catch (error) {
      throw error instanceof KernelError ? badResult(tool.name, error) : error;
    }
  }

  /** The effect has happened: a cost that cannot be told costs the call alone. */
  private used({ name, cost }: ParsedTool, args: JsonValue, result: JsonValue): Usage {
    try {
      const beyond = cost === undefined ? {} : parse(usageSpec, cost(args as never, result as never), 'cost');
      return { ...(beyond as Usage), toolCalls: ((beyond as Usage).toolCalls ?? 0) + 1 };
    } catch (error) {
      this.logger.error({ tool: name, error: String(error) }, 'a tool could not tell what its call cost');
      return { toolCalls: 1 };
    }
  }
}

/** Nobody would hear of it: it need not begin. */
function isGivenUp({ signal, abandoned }: Running): boolean {
  return signal.aborted || abandoned?.aborted === true;
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
