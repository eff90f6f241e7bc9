import type { Pid } from '../../base/ids.js';

export const chargedDimensions = [
  'toolCalls',
  'tokens',
  'costMicros',
  'materializedTokens',
  'outputBytes',
  'storedBytes',
] as const;
export type ChargedDimension = (typeof chargedDimensions)[number];

export const budgetDimensions = [...chargedDimensions, 'children', 'depth', 'wallMs'] as const;
export type Dimension = (typeof budgetDimensions)[number];

/** The most that one charge or reservation adds to a dimension, so that no single call can use up a tree that has no limit. */
export const chargeMax = 1_000_000_000_000;

/** Where sums stop: an account that has no limit, or this one, never refuses. */
export const sumMax = Number.MAX_SAFE_INTEGER;

/** Limits of one process. Absent: the limits above it apply. Zero: nothing is allowed. */
export type Budget = Record<Dimension, number>;

/** Whole numbers, zero or more. */
export type Usage = Partial<Record<ChargedDimension, number>>;

export interface ReserveOptions {
  /** Reserves what is left where that is less than was asked, and is refused only where nothing is left. Default false. */
  readonly partial?: boolean;
}

export interface BudgetLine {
  /** The process's own limit. */
  readonly limit: number | null;
  readonly used: number;
  readonly reserved: number;
  /** The amount that can still be spent under the tightest limit of the process and those above it; null without any limit. */
  readonly left: number | null;
  /** By how much the process's own limit is passed: settled usage may be more than its reservation. */
  readonly overrun: number;
  /** The process whose limit leaves the least. */
  readonly boundBy: Pid | null;
}
export type BudgetReport = Record<Dimension, BudgetLine>;

/** A root without a depth limit gets this one. */
export const depthDefault = 64;
export const depthMax = 1024;

/** One dimension of one account. */
export interface Balance {
  readonly limit: number | null;
  readonly used: number;
  readonly reserved: number;
}

/** The amount that can still be charged; Infinity where nothing is limited. */
export function roomOf({ limit, used, reserved }: Balance): number {
  return limit === null || limit === sumMax ? Number.POSITIVE_INFINITY : Math.max(0, limit - used - reserved);
}

/** The budget line of a process. `path`: the balances of the accounts above it, root first, its own last. */
export function toBudgetLine(path: readonly { readonly pid: Pid; readonly balance: Balance }[]): BudgetLine {
  const own = path.at(-1)?.balance ?? { limit: null, used: 0, reserved: 0 };
  let left: number | null = null;
  let boundBy: Pid | null = null;
  for (const { pid, balance } of path) {
    if (balance.limit === null) continue;
    const rest = Math.min(roomOf(balance), sumMax);
    if (left !== null && rest > left) continue;
    left = rest;
    boundBy = pid;
  }
  const overrun = own.limit === null ? 0 : Math.max(0, own.used + own.reserved - own.limit);
  return { ...own, left, overrun, boundBy };
}
