import { isKernelError, type ReservationId, type Syscalls } from '../../../index.js';
import type { ModelUsage } from '../../shared/model-usage.js';
import { type Priced, priceOf } from '../../shared/turn-budget.js';
import type { GovernedSettings } from './governed-options.js';
import type { ModelCall } from './model-call.js';
import { estimateInput, type InputEstimate } from './token-estimate.js';

/** What a turn may use, and what was set aside for it. */
export interface TurnRoom {
  readonly reservation: ReservationId;
  /** What is charged in each field that the provider does not report. */
  readonly estimated: ModelUsage;
  /** The most tokens of the answer; undefined where nothing limits it. */
  readonly outputTokensMax: number | undefined;
}

/** Set aside for an answer whose length nothing limits. */
const outputTokensAssumed = 1_024;
/** No model in use gives longer answers, so that a budget which leaves more needs no limit for a single one. */
const outputTokensLargest = 131_072;
/** Bounds of what one answer gets of a limited budget, where the call does not say: a quarter of what is left. */
const shareMin = 4_096;
const shareMax = 16_384;
/** Times that a plan is made anew, because others have taken of the same budget. */
const plansMax = 4;

/** A plan as it is journalled; `outputTokens` is 0 where nothing is left. */
type Plan = {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Null where nothing limits the answer. */
  readonly limit: number | null;
  readonly costMicros: number | null;
};

/**
 * Sets aside what the request and its answer can take at most, within what the budget leaves. The plan is journalled. Throws
 * BUDGET_EXCEEDED where not even one token is left for the answer.
 */
export async function reserveRoom(
  ctx: Syscalls,
  settings: GovernedSettings,
  turn: string,
  call: ModelCall,
): Promise<TurnRoom> {
  const input = estimateInput(call, settings.countTokens);
  const asked = call.maxOutputTokens ?? settings.maxOutputTokens;
  for (let plans = 1; ; plans++) {
    const plan = await ctx.step(`budget of ${turn}`, () => planRoom(ctx, settings.cost, input, asked));
    // A turn that does not fit asks for one token too many, and the kernel says which budget refuses it.
    const outputTokens = Math.max(1, plan.outputTokens);
    const money = plan.costMicros === null ? {} : { costMicros: plan.costMicros };
    try {
      const reservation = await ctx.reserve({ tokens: plan.inputTokens + outputTokens, ...money });
      const estimated = toUsage(input.messages, plan.outputTokens);
      if (plan.outputTokens > 0) return { reservation, estimated, outputTokensMax: plan.limit ?? undefined };
      // There is room after all, since a limit was raised meanwhile.
      await ctx.settle(reservation, {});
    } catch (error) {
      if (plan.outputTokens === 0 || plans >= plansMax || !isKernelError(error, 'BUDGET_EXCEEDED')) throw error;
    }
    if (plans >= plansMax * 2) throw new Error(`the budget of process ${ctx.pid} changes all the time`);
  }
}

async function planRoom(
  ctx: Syscalls,
  cost: Priced['cost'],
  input: InputEstimate,
  asked: number | undefined,
): Promise<Plan> {
  const { tokens, costMicros } = await ctx.budget();
  const inputTokens = inputWithin(input, tokens.left);
  const priceFor = (outputTokens: number) =>
    cost === undefined ? 0 : priceOf(cost, toUsage(inputTokens, outputTokens));
  const left = Math.min(
    tokens.left === null ? Number.POSITIVE_INFINITY : Math.max(0, tokens.left - inputTokens),
    cost === undefined || costMicros.left === null
      ? Number.POSITIVE_INFINITY
      : largestAffordable(priceFor, costMicros.left),
  );
  const limit = limitOf(left, asked);
  const outputTokens = limit ?? (Number.isFinite(left) ? shareMax : outputTokensAssumed);
  return {
    inputTokens,
    outputTokens,
    limit,
    costMicros: cost === undefined ? null : priceFor(Math.max(1, outputTokens)),
  };
}

/**
 * The tokens of the input that the plan counts on. Schemas of tools, whose estimate is the roughest, leave less for the answer,
 * but a turn is not refused for them alone.
 */
function inputWithin({ messages, schemas }: InputEstimate, left: number | null): number {
  return left === null || messages + schemas < left ? messages + schemas : messages;
}

/**
 * The limit of the answer. Where the call states none, processes that share a budget leave each other room: an answer gets a
 * quarter of what is left, and of little all.
 */
function limitOf(left: number, asked: number | undefined): number | null {
  if (asked !== undefined) return Math.min(asked, left);
  if (left > outputTokensLargest) return null;
  return Math.min(left, Math.max(shareMin, Math.min(shareMax, Math.floor(left / 4))));
}

function toUsage(inputTokens: number, outputTokens: number): ModelUsage {
  return { inputTokens, cachedInputTokens: 0, outputTokens, totalTokens: inputTokens + outputTokens };
}

/** The most tokens of an answer whose price is within `money`; 0 where there is none. Prices grow with the tokens. */
function largestAffordable(priceFor: (outputTokens: number) => number, money: number): number {
  let fits = 0;
  let tooMany = outputTokensLargest + 2;
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2);
    if (priceFor(middle) <= money) fits = middle;
    else tooMany = middle;
  }
  return fits;
}
