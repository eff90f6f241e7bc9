import { KernelError, type Syscalls } from '../../../index.js';
import { modelFailed, modelRetry, usageInFailure } from '../../shared/model-error.js';
import { assertStillAllowed } from '../../shared/model-resource.js';
import { type ModelUsage, noUsage, sumUsage, usageFrom } from '../../shared/model-usage.js';
import { toRecordedRequest } from '../../shared/told-turns.js';
import { settleTurn } from '../../shared/turn-budget.js';
import { type AgentModel, modelResource } from './agent-model.js';
import type { GovernedSettings } from './governed-options.js';
import { askOnce, type PartListener } from './model-attempt.js';
import { type ModelCall, type SourceModel, toSource } from './model-call.js';
import { countsIn } from './reported-usage.js';
import { type StoredAnswer, toStoredAnswer } from './stored-answer.js';
import { TurnPublisher } from './turn-publisher.js';
import { reserveRoom, type TurnRoom } from './turn-room.js';

/** Settings of the turns of one model in one body. */
export interface TurnSettings extends GovernedSettings {
  /** The name of a tool in the kernel, for that which the model uses. */
  readonly nameOf: (alias: string) => string;
}

/**
 * The turns of one model for one process. Each needs `call` on the model, is reserved before and charged after, and is a
 * step: a rerun gets the stored answer. What it said is committed before the answer is given out.
 */
export class ModelTurns {
  readonly source: SourceModel;
  private readonly resource: string;
  private turns = 0;

  constructor(
    private readonly ctx: Syscalls,
    private readonly model: AgentModel,
    private readonly settings: TurnSettings,
  ) {
    this.source = toSource(model);
    this.resource = modelResource(model);
  }

  /**
   * Asks once, with retries: as a stream where there is a listener. Throws CAPABILITY_DENIED, BUDGET_EXCEEDED before anything
   * is asked, MODEL_FAILED with the usage of all attempts.
   */
  async run(call: ModelCall, listeners: readonly PartListener[] | undefined, name?: string): Promise<StoredAnswer> {
    const { ctx, settings } = this;
    const turn = name ?? `${settings.name} ${++this.turns}`;
    await ctx.capabilities.require('call', this.resource);
    const room = await reserveRoom(ctx, settings, turn, call);
    const publisher = new TurnPublisher(ctx, settings.nameOf);
    const answer = await this.ask(turn, call, room, publisher, listeners).catch(async (error: unknown) => {
      const used = usageInFailure(error) ?? noUsage;
      // The error of the model is the one to report, whatever the price function says. What a stopped process has reserved is
      // settled with its end.
      if (!ctx.signal.aborted) await settleTurn(ctx, settings, room.reservation, used).catch(() => undefined);
      throw error;
    });
    await settleTurn(ctx, settings, room.reservation, answer.charged);
    const request = toRecordedRequest(this.resource, requestOf(call), settings.record);
    await publisher.commit(answer, request, settings.record);
    return answer;
  }

  private ask(
    turn: string,
    call: ModelCall,
    room: TurnRoom,
    publisher: TurnPublisher,
    listeners: readonly PartListener[] | undefined,
  ): Promise<StoredAnswer> {
    const { ctx, settings } = this;
    const all = [publisher, ...(listeners ?? [])];
    let failed = noUsage;
    const attempt = async (): Promise<StoredAnswer> => {
      await assertStillAllowed(ctx, this.resource);
      for (const listener of all) listener.begin();
      const outcome = await this.askOnce(call, room, listeners === undefined ? undefined : joinListeners(all));
      if ('answer' in outcome) return { ...outcome.answer, charged: sumUsage(failed, outcome.answer.usage) };
      failed = sumUsage(failed, outcome.used);
      const isFinal = all.some((listener) => listener.isFinal) || !(await this.hasRoomAgain(failed));
      throw modelFailed(this.resource, outcome.error, failed, isFinal ? false : undefined);
    };
    return ctx.step(turn, attempt, { retry: modelRetry(settings.retry), effect: 'idempotent' });
  }

  /** The reservation is for one attempt: what others have used must be left beside it. */
  private async hasRoomAgain(failed: ModelUsage): Promise<boolean> {
    if (failed.totalTokens === 0) return true;
    const { left } = (await this.ctx.budget()).tokens;
    return left === null || left >= failed.totalTokens;
  }

  private async askOnce(
    call: ModelCall,
    { estimated, outputTokensMax }: TurnRoom,
    listener: PartListener | undefined,
  ): Promise<{ answer: Omit<StoredAnswer, 'charged'> } | { error: unknown; used: ModelUsage }> {
    const { signal } = this.ctx;
    const abortSignal = call.abortSignal === undefined ? signal : AbortSignal.any([signal, call.abortSignal]);
    const limited = outputTokensMax === undefined ? call : { ...call, maxOutputTokens: outputTokensMax };
    try {
      const answer = await askOnce(this.source, this.model, { ...limited, abortSignal }, listener);
      return { answer: await toStoredAnswer(this.ctx, answer, estimated) };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof KernelError) throw error;
      return {
        error: call.abortSignal?.aborted === true ? abortError() : error,
        used: usageOfFailure(error, estimated),
      };
    }
  }
}

function joinListeners(listeners: readonly PartListener[]): PartListener {
  return {
    isFinal: false,
    begin: () => undefined,
    onPart: (part) => {
      for (const listener of listeners) listener.onPart(part);
    },
  };
}

/**
 * The usage that the error reports. Without a report: nothing when the provider answered with an error status, since it sent
 * no answer of the model; otherwise nobody knows, and the estimate counts.
 */
function usageOfFailure(error: unknown, estimated: ModelUsage): ModelUsage {
  const { usage, statusCode } = typeof error === 'object' && error !== null ? (error as FailedRequest) : {};
  if (usage !== undefined) return usageFrom(countsIn(usage), estimated);
  return typeof statusCode === 'number' && statusCode >= 400 ? noUsage : estimated;
}

/** Members that errors of providers may have. */
interface FailedRequest {
  readonly usage?: unknown;
  readonly statusCode?: unknown;
}

export function abortError(): DOMException {
  return new DOMException('The request was given up by its caller.', 'AbortError');
}

/** The parts of a request that the audit log gets to know. */
function requestOf({ prompt, tools = [], maxOutputTokens, responseFormat }: ModelCall): object {
  return { prompt, tools, maxOutputTokens: maxOutputTokens ?? null, responseFormat: responseFormat ?? null };
}
