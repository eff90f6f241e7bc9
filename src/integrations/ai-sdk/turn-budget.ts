import type { ModelMessage } from 'ai';
import { InputError, type ReservationId, type Syscalls, type Usage } from '../../index.js';
import type { Agent } from './agent-spec.js';
import { estimatedTokens, type ModelUsage } from './model-usage.js';

/** Set aside for an answer whose length nobody has limited. */
const outputTokensAssumed = 1_024;

/** What a turn is thought to take. Good enough to set aside: what is charged is what the provider reports. */
export function estimatedUsage({ system, maxOutputTokens }: Agent, messages: readonly ModelMessage[]): ModelUsage {
  const inputTokens = estimatedTokens((system ?? '') + JSON.stringify(messages));
  const outputTokens = maxOutputTokens ?? outputTokensAssumed;
  return { inputTokens, cachedInputTokens: 0, outputTokens, totalTokens: inputTokens + outputTokens };
}

/** Sets aside what a turn is thought to take, or what is left of it. Throws BUDGET_EXCEEDED where nothing is left. */
export function reserveTurn(ctx: Syscalls, agent: Agent, estimated: ModelUsage): Promise<ReservationId> {
  return ctx.reserve(chargeOf(agent, estimated), { partial: true });
}

/**
 * Charges what a turn took, which is never refused. A price that cannot be told is told after the tokens are charged.
 * Throws INVALID_INPUT.
 */
export async function settleTurn(
  ctx: Syscalls,
  agent: Agent,
  reservation: ReservationId,
  used: ModelUsage,
): Promise<void> {
  try {
    await ctx.settle(reservation, chargeOf(agent, used));
  } catch (error) {
    if (error instanceof PriceError) await ctx.settle(reservation, { tokens: used.totalTokens });
    throw error;
  }
}

function chargeOf({ cost }: Agent, used: ModelUsage): Usage {
  const tokens = { tokens: used.totalTokens };
  return cost === undefined ? tokens : { ...tokens, costMicros: priceOf(cost, used) };
}

/** The price of a turn in micro-USD, by the function of whoever made the image. */
function priceOf(cost: NonNullable<Agent['cost']>, used: ModelUsage): number {
  const price = told(() => cost(used));
  if (typeof price === 'number' && Number.isSafeInteger(price) && price >= 0) return price;
  throw new PriceError(`gave ${String(price)}, which is not a whole number`);
}

function told(ask: () => unknown): unknown {
  try {
    return ask();
  } catch (error) {
    throw new PriceError(`threw ${String(error).slice(0, 200)}`);
  }
}

class PriceError extends InputError {
  constructor(problem: string) {
    super('INVALID_INPUT', `cost: ${problem}.`, {
      facts: { path: 'cost' },
      hint: 'It gets the tokens of a turn and answers with whole micro-USD: Math.round(…).',
    });
  }
}
