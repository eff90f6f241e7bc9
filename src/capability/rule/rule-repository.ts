import type { Pid, RuleId } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import type { RuleRecord } from './rule.js';

/** Rows of the host's rules. Every method works inside the caller's unit. */
export interface RuleRepository {
  find(tx: ReadTx, id: RuleId): Promise<RuleRecord | undefined>;
  insert(tx: WriteTx, rule: RuleRecord): Promise<void>;
  delete(tx: WriteTx, id: RuleId): Promise<void>;
  /** Those set on `pid` itself, or on any, oldest first. */
  list(tx: ReadTx, pid?: Pid | '*'): Promise<readonly RuleRecord[]>;
  /** As `list`, but only those that bind a process at `now`: neither expired, nor on a tree in which nothing lives. */
  listBinding(tx: ReadTx, pid: Pid | '*' | undefined, now: number): Promise<readonly RuleRecord[]>;
  /** Those set on a process with one of these numbers, and those for all. */
  findByTargets(tx: ReadTx, numbers: readonly number[]): Promise<readonly RuleRecord[]>;
}
export const RuleRepository: Token<RuleRepository> = token('RuleRepository');
