import { InputError, type ReservationId, type Syscalls, type Usage } from '../../index.js';
import type { ModelUsage } from './model-usage.js';

/** Something whose turns may have a price. */
export interface Priced {
  /** The price of a turn in whole micro-USD. Without it only tokens are charged. */
  readonly cost?: ((usage: ModelUsage) => number) | undefined;
}

/** Reserves the estimate, or the rest of the budget where that is less. Throws BUDGET_EXCEEDED where nothing is left. */
export function reserveTurn(ctx: Syscalls, priced: Priced, estimated: ModelUsage): Promise<ReservationId> {
  return ctx.reserve(chargeOf(priced, estimated), { partial: true });
}

/**
 * Charges what a turn used, which is never refused. Where the price function fails, the tokens are charged before that
 * error is thrown. Throws INVALID_INPUT.
 */
export async function settleTurn(
  ctx: Syscalls,
  priced: Priced,
  reservation: ReservationId,
  used: ModelUsage,
): Promise<void> {
  try {
    await ctx.settle(reservation, chargeOf(priced, used));
  } catch (error) {
    if (error instanceof PriceError) await ctx.settle(reservation, { tokens: used.totalTokens });
    throw error;
  }
}

function chargeOf({ cost }: Priced, used: ModelUsage): Usage {
  const tokens = { tokens: used.totalTokens };
  return cost === undefined ? tokens : { ...tokens, costMicros: priceOf(cost, used) };
}

/** The price of a turn in micro-USD, by the `cost` function of the spec. Throws INVALID_INPUT for what is no price. */
export function priceOf(cost: NonNullable<Priced['cost']>, used: ModelUsage): number {
  const price = callCost(() => cost(used));
  if (typeof price === 'number' && Number.isSafeInteger(price) && price >= 0) return price;
  throw new PriceError(`gave ${String(price)}, which is not a whole number`);
}

function callCost(call: () => unknown): unknown {
  try {
    return call();
  } catch (error) {
    throw new PriceError(`threw ${String(error).slice(0, 200)}`);
  }
}

class PriceError extends InputError {
  constructor(problem: string) {
    super('INVALID_INPUT', `cost: ${problem}.`, {
      facts: { path: 'cost', problem },
      hint: 'It gets the tokens of a turn and answers with whole micro-USD: Math.round(…).',
    });
  }
}
