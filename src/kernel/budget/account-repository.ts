import type { Pid, ReservationId } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import type { Balance, Budget, Dimension, Usage } from './budget.js';

/** The account of one process. `n` is the number of the process row. */
export type AccountRow = { readonly n: number; readonly pid: Pid; readonly deadlineAt: number | null } & Readonly<
  Record<Dimension, Balance>
>;

export interface Reservation {
  readonly id: ReservationId;
  readonly pid: Pid;
  readonly usage: Usage;
  readonly at: number;
  /** It is for an effect that has begun: when its process ends, it counts as used. */
  readonly underway: boolean;
}

/**
 * Rows of accounts, by the number of the process row. A method that answers with a boolean checks its limit in the UPDATE
 * of that row and answers whether the row was changed: a limit that is read from other rows would not be checked again by
 * a store with many writers.
 */
export interface AccountRepository {
  insert(tx: WriteTx, rowNumber: number, limits: Partial<Budget>, storedBytes: number): Promise<void>;
  find(tx: ReadTx, rowNumber: number): Promise<AccountRow | undefined>;
  /** The accounts with these numbers, in their order. */
  findAll(tx: ReadTx, rowNumbers: readonly number[]): Promise<AccountRow[]>;
  /** The number of processes that were spawned under each of these and are not pruned, by its number. */
  countSpawned(tx: ReadTx, rowNumbers: readonly number[]): Promise<ReadonlyMap<number, number>>;
  /** Reads the accounts with these numbers together, for a unit that will ask for one after another. */
  load(tx: WriteTx, rowNumbers: readonly number[]): Promise<void>;
  setLimits(tx: WriteTx, rowNumber: number, limits: Partial<Budget>): Promise<void>;
  /**
   * Counts one more live process below, with the bytes that are stored for it. `levels`: how far below it is; `isParent`:
   * 1 for the account of its parent.
   */
  takeChildSlot(tx: WriteTx, rowNumber: number, levels: number, isParent: 0 | 1, storedBytes: number): Promise<boolean>;
  freeChildSlots(tx: WriteTx, rowNumber: number, count: number): Promise<void>;
  charge(tx: WriteTx, rowNumber: number, usage: Usage): Promise<boolean>;
  reserve(tx: WriteTx, rowNumber: number, usage: Usage): Promise<boolean>;
  /** Replaces a reservation by the usage. Cannot be refused. */
  settle(tx: WriteTx, rowNumber: number, reserved: Usage, used: Usage): Promise<void>;
  /** Adds stored bytes, or takes them back where negative. Cannot be refused. */
  addStored(tx: WriteTx, rowNumber: number, bytes: number): Promise<void>;
  insertReservation(tx: WriteTx, reservation: Reservation): Promise<void>;
  findReservation(tx: ReadTx, id: ReservationId): Promise<Reservation | undefined>;
  findReservations(tx: ReadTx, ids: readonly ReservationId[]): Promise<Reservation[]>;
  /** Reads the reservations of these processes together, for a unit that will ask for those of one after another. */
  loadReservations(tx: WriteTx, pids: readonly Pid[]): Promise<void>;
  reservationsOf(tx: ReadTx, pid: Pid): Promise<Reservation[]>;
  deleteReservation(tx: WriteTx, id: ReservationId): Promise<void>;
  /** Removes the account of a pruned process; `above` is the row number of the process that it was spawned under. */
  delete(tx: WriteTx, rowNumber: number, above: number | undefined): Promise<void>;
}
export const AccountRepository: Token<AccountRepository> = token('AccountRepository');
