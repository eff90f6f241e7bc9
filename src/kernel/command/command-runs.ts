import type { Pid } from '../../base/ids.js';
import { type Token, token } from '../../base/token.js';
import type { ProcessCaller } from '../../unit/caller.js';
import type { CommandResult } from './command.js';

/** Runs programs of the operating system as processes. */
export interface CommandRuns {
  /**
   * Makes a child of the calling process that is a command, and starts it; the pid is the answer of the unit that makes
   * it. One in the background has been started when this resolves. Throws INVALID_INPUT, INVALID_PATH,
   * CAPABILITY_DENIED, BUDGET_EXCEEDED, TREE_STOPPING.
   */
  begin(caller: ProcessCaller, spec: unknown): Promise<Pid>;
  /** Of one that has ended. Throws TOOL_FAILED where it was never started, OUTCOME_UNKNOWN where it was lost. */
  result(pid: Pid): Promise<CommandResult>;
}
export const CommandRuns: Token<CommandRuns> = token('CommandRuns');
