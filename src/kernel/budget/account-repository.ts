import type { Pid, ReservationId } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import type { Balance, Budget, Dimension, Usage } from './budget.js';

/** The account of one process, under the number of its row. */
export type AccountRow = { readonly n: number; readonly pid: Pid; readonly deadlineAt: number | null } & Readonly<
  Record<Dimension, Balance>
>;

export interface Reservation {
  readonly id: ReservationId;
  readonly pid: Pid;
  readonly usage: Usage;
  readonly at: number;
  /** What it was made for is under way: when its process ends, it counts as used. */
  readonly underway: boolean;
}

/**
 * Rows of accounts. Those that can be refused have their predicate in the UPDATE, row by row, and answer whether the row
 * was changed: a predicate on other rows would not be checked again by a store with many writers.
 */
export interface AccountRepository {
  insert(tx: WriteTx, n: number, limits: Partial<Budget>): Promise<void>;
  find(tx: ReadTx, n: number): Promise<AccountRow | undefined>;
  setLimits(tx: WriteTx, n: number, limits: Partial<Budget>): Promise<void>;
  /** Counts one more live process below; `levels` is how far below, `born` 1 for the account directly above. */
  enter(tx: WriteTx, n: number, levels: number, born: 0 | 1): Promise<boolean>;
  /** Gives back `count` places. */
  leave(tx: WriteTx, n: number, count: number): Promise<void>;
  charge(tx: WriteTx, n: number, usage: Usage): Promise<boolean>;
  reserve(tx: WriteTx, n: number, usage: Usage): Promise<boolean>;
  /** Turns a reservation into what was used. Cannot be refused. */
  settle(tx: WriteTx, n: number, reserved: Usage, used: Usage): Promise<void>;
  insertReservation(tx: WriteTx, reservation: Reservation): Promise<void>;
  findReservation(tx: ReadTx, id: ReservationId): Promise<Reservation | undefined>;
  reservationsOf(tx: ReadTx, pid: Pid): Promise<Reservation[]>;
  deleteReservation(tx: WriteTx, id: ReservationId): Promise<void>;
  /** Forgets a pruned process; `above` is the account it was born under. */
  delete(tx: WriteTx, n: number, above: number | undefined): Promise<void>;
}
export const AccountRepository: Token<AccountRepository> = token('AccountRepository');
