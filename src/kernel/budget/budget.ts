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

/** The dimensions of a budget. They are explained in docs/tables.md#budget-dimensions. */
export const budgetDimensions = [...chargedDimensions, 'children', 'depth', 'wallMs'] as const;
export type Dimension = (typeof budgetDimensions)[number];

/** The meaning of each dimension: the one list, from which docs/tables.md is generated. */
export const dimensionDescriptions: Readonly<Record<Dimension, string>> = {
  toolCalls: 'Calls of tools. Charged by the kernel for every call that runs.',
  tokens: 'Tokens of models. Charged by agents, and by `charge` for models that the application calls itself.',
  costMicros:
    'Cost in millionths of a currency unit, such as micro-USD. Charged by agents with `cost`, by tools with `cost`, and by `charge`.',
  materializedTokens: 'Tokens of contexts that `memory.materialize` has rendered.',
  outputBytes: 'Bytes that commands have written to their output.',
  storedBytes:
    'Bytes of JSON that the process has stored: objects and their versions, messages, log lines, turns of agents, states of renewed bodies, and goals and arguments of children.',
  children: 'Processes below it, counted when they are created.',
  depth: 'Levels of processes below it. A root without this limit gets 64.',
  wallMs: 'Milliseconds since its creation. At the end the process is stopped with the outcome `timed_out`.',
};

/** The most that one charge or reservation adds to a dimension, so that no single call can use up a tree that has no limit. */
export const chargeMax = 1_000_000_000_000;

/** Where sums stop: an account that has no limit, or this one, never refuses. */
export const sumMax = Number.MAX_SAFE_INTEGER;

/** Limits of one process. Absent: the limits above it apply. Zero: nothing is allowed. */
export type Budget = Record<Dimension, number>;

/** Whole numbers, zero or more. */
export type Usage = Partial<Record<ChargedDimension, number>>;

/** Options of `reserve`. */
export interface ReserveOptions {
  /** Reserves what is left where that is less than was asked, and is refused only where nothing is left. Default false. */
  readonly partial?: boolean;
}

/** One dimension of the budget of a process. */
export interface BudgetLine {
  /** The process's own limit. */
  readonly limit: number | null;
  /** The usage of the process and of everything under it. */
  readonly used: number;
  /** The amount that reservations set aside. */
  readonly reserved: number;
  /** The amount that can still be spent under the tightest limit of the process and those above it; null without any limit. */
  readonly left: number | null;
  /** By how much the process's own limit is passed: settled usage may be more than its reservation. */
  readonly overrun: number;
  /** The process whose limit leaves the least. */
  readonly boundBy: Pid | null;
}
/** The budget of a process, by dimension. */
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
