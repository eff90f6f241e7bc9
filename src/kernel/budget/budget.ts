import type { Pid } from '../../base/ids.js';

export const chargedDimensions = ['toolCalls', 'tokens', 'costMicros', 'materializedTokens', 'outputBytes'] as const;
export type ChargedDimension = (typeof chargedDimensions)[number];

export const budgetDimensions = [...chargedDimensions, 'children', 'depth', 'wallMs'] as const;
export type Dimension = (typeof budgetDimensions)[number];

/** Limits of one process. Absent: what binds above. Zero: none. */
export type Budget = Record<Dimension, number>;

/** Whole numbers, zero or more. */
export type Usage = Partial<Record<ChargedDimension, number>>;

export interface ReserveOptions {
  /** Takes what is left where that is less than was asked, and is refused only where nothing is. Default false. */
  readonly partial?: boolean;
}

export interface BudgetLine {
  /** The process's own limit. */
  readonly limit: number | null;
  readonly used: number;
  readonly reserved: number;
  /** What can still be spent, whoever binds; null when nothing does. */
  readonly left: number | null;
  /** How far the process's own limit is passed, by what was settled above its reservation. */
  readonly overrun: number;
  /** The process whose limit leaves the least. */
  readonly boundBy: Pid | null;
}
export type BudgetReport = Record<Dimension, BudgetLine>;

/** A root without a depth limit gets this one. */
export const depthDefault = 64;
export const depthMax = 1024;

/** What one account says of one dimension. */
export interface Balance {
  readonly limit: number | null;
  readonly used: number;
  readonly reserved: number;
}

/** The line of the last account of a path, root first, seen from that process. */
export function budgetLine(path: readonly { readonly pid: Pid; readonly balance: Balance }[]): BudgetLine {
  const own = path.at(-1)?.balance ?? { limit: null, used: 0, reserved: 0 };
  let left: number | null = null;
  let boundBy: Pid | null = null;
  for (const { pid, balance } of path) {
    if (balance.limit === null) continue;
    const rest = Math.max(0, balance.limit - balance.used - balance.reserved);
    if (left !== null && rest > left) continue;
    left = rest;
    boundBy = pid;
  }
  const overrun = own.limit === null ? 0 : Math.max(0, own.used + own.reserved - own.limit);
  return { ...own, left, overrun, boundBy };
}
