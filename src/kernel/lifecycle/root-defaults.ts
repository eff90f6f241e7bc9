import { type Token, token } from '../../base/token.js';
import type { Budget } from '../budget/budget.js';

/** What a root gets where its spec gives none; each limit of the budget by itself. */
export interface RootDefaults {
  /** `name` or `name@version`; default `base`. */
  readonly image?: string;
  /** Limits, each by itself. */
  readonly budget?: Partial<Budget>;
  /** The deadline, as a duration. */
  readonly deadlineMs?: number;
}
export const RootDefaults: Token<RootDefaults> = token('RootDefaults');
