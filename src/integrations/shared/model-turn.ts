import { KernelError, type RetryPolicy, type Syscalls } from '../../index.js';
import { isTemporary, modelFailed, modelRetry, statusOf, usageInFailure } from './model-error.js';
import { assertStillAllowed } from './model-resource.js';
import { type ModelUsage, noUsage, type ReportedUsage, sumUsage, usageFrom } from './model-usage.js';
import { toStorable } from './storable.js';
import { type RecordedTurns, type ToldTurn, toldTurnsOf, toRecordedRequest } from './told-turns.js';
import { type Priced, reserveTurn, settleTurn } from './turn-budget.js';
import type { ToldResult } from './turn-parts.js';

/** One question to a model through an SDK. */
export interface ModelTurn<Answer> extends Priced {
  /** Names the step. */
  readonly name: string;
  /** The process needs `call` on it. */
  readonly resource: string;
  /** Reserved before the model is asked; see `estimateTurn`. */
  readonly estimated: ModelUsage;
  /** The retries of failures that another attempt can help. */
  readonly retry: RetryPolicy;
  /** The request, as far as the audit log gets to know it. */
  readonly request: unknown;
  /** How much of the request and the answer is on record. */
  readonly record: RecordedTurns;
  /** Results of tools in the request, in the order of the conversation. */
  readonly results: readonly ToldResult[];
  /** Converts an answer to the parts that readers of the turns get. */
  readonly tell: (answer: Answer) => Omit<ToldTurn, 'usage'>;
  /** Asks the model. The answer must be JSON. */
  readonly ask: (limits: TurnLimits) => Promise<AskedTurn<Answer>>;
}

/** The limits of one attempt. */
export interface TurnLimits {
  /** Aborts when the process is stopped. */
  readonly signal: AbortSignal;
  /** The tokens that the budget leaves for the answer; undefined without a limit. */
  readonly outputTokensMax: number | undefined;
}

/** An answer of a model. */
export interface AskedTurn<Answer> {
  readonly answer: Answer;
  /** The usage as the provider reports it. */
  readonly reported: ReportedUsage;
  /** A rough number of tokens of the answer, which counts where none is reported. */
  readonly outputTokens: number;
}

/** The answer of a turn as it is stored. */
export interface AnsweredTurn<Answer> {
  readonly answer: Answer;
  readonly usage: ModelUsage;
}

/** Reserved for an answer whose length is not limited. */
const outputTokensAssumed = 1_024;
const bytesPerToken = 2;

/** The usage of a turn, from above: of its input as JSON, and of an answer of at most `outputTokens`. */
export function estimateTurn(input: unknown, outputTokens = outputTokensAssumed): ModelUsage {
  const inputTokens = Math.ceil(Buffer.byteLength(JSON.stringify(input) ?? '') / bytesPerToken);
  return { inputTokens, cachedInputTokens: 0, outputTokens, totalTokens: inputTokens + outputTokens };
}

/**
 * Asks a model once, as a step: a rerun of the body gets the stored answer and pays nothing again. Reserves the estimate, or
 * the rest of the budget where that is less, and charges what was used. Readers of the turns are told of the results of tools
 * before, and of the answer after. Throws CAPABILITY_DENIED, BUDGET_EXCEEDED where
 * nothing is left for an answer, MODEL_FAILED with the usage of all attempts.
 */
export async function runModelTurn<Answer>(ctx: Syscalls, turn: ModelTurn<Answer>): Promise<AnsweredTurn<Answer>> {
  const told = toldTurnsOf(ctx);
  await told.commitResults(turn.results);
  await ctx.capabilities.require('call', turn.resource);
  const reservation = await reserveTurn(ctx, turn, turn.estimated);
  const answered = await askModel(ctx, turn).catch(async (error: unknown) => {
    const used = usageInFailure(error) ?? noUsage;
    // The error of the turn is the one to report, whatever the price function says. What a stopped process has reserved is
    // settled with its end.
    if (!ctx.signal.aborted) await settleTurn(ctx, turn, reservation, used).catch(() => undefined);
    throw error;
  });
  const { answer, usage } = answered;
  await settleTurn(ctx, turn, reservation, usage);
  const request = toRecordedRequest(turn.resource, turn.request, turn.record);
  await told.commitTurn({ ...turn.tell(answer), usage }, request, turn.record);
  return answered;
}

function askModel<Answer>(ctx: Syscalls, turn: ModelTurn<Answer>): Promise<AnsweredTurn<Answer>> {
  const { resource, estimated } = turn;
  let failedAttempts = noUsage;
  const attempt = async (): Promise<AnsweredTurn<Answer>> => {
    await assertStillAllowed(ctx, resource);
    const outputTokensMax = await outputLeft(ctx, turn);
    ctx.turns.publish({ type: 'turn-start' });
    try {
      const { answer, reported, outputTokens } = await turn.ask({ signal: ctx.signal, outputTokensMax });
      const usage = usageFrom(reported, { ...estimated, outputTokens });
      return toStorable({ answer, usage: sumUsage(failedAttempts, usage) });
    } catch (error) {
      if (ctx.signal.aborted) throw ctx.signal.reason;
      if (error instanceof KernelError) throw error;
      // An answer with the status of an error has no answer of a model in it.
      const wasAnswered = (statusOf(error) ?? 0) < 400;
      failedAttempts = sumUsage(failedAttempts, wasAnswered ? estimated : noUsage);
      throw modelFailed(resource, error, failedAttempts, isTemporary(error));
    }
  };
  return ctx.step(turn.name, attempt, { retry: modelRetry(turn.retry), effect: 'idempotent' });
}

/**
 * The tokens that are left for the answer, the reservation of the turn included. Throws BUDGET_EXCEEDED where the input alone
 * may take all of them.
 */
async function outputLeft(
  ctx: Syscalls,
  { estimated }: Pick<ModelTurn<unknown>, 'estimated'>,
): Promise<number | undefined> {
  const { tokens } = await ctx.budget();
  if (tokens.left === null) return undefined;
  const left = tokens.left + Math.min(estimated.totalTokens, tokens.reserved);
  if (left > estimated.inputTokens) return left - estimated.inputTokens;
  // The kernel refuses it, so that the refusal is on record and `onBudget` of the process holds. It can pass only where the
  // budget was raised a moment ago.
  await ctx.settle(await ctx.reserve({ tokens: estimated.inputTokens + 1 }), {});
  return 1;
}
