import { eq, getTableColumns, sql } from 'drizzle-orm';
import { injectable } from 'inversify';
import type { ReservationId } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { AccountRepository, AccountRow, Reservation } from '../../kernel/budget/account-repository.js';
import {
  type Budget,
  budgetDimensions,
  type ChargedDimension,
  chargedDimensions,
  type Dimension,
  sumMax,
  type Usage,
} from '../../kernel/budget/budget.js';
import { accounts, reservations } from '../schema/accounts.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db } from '../statements/statement-connection.js';
import { accountRows, processRows, reservationRows } from '../working-set/tables.js';

const statements = prepareStatements((db: Db) => ({
  reservationsOf: db
    .select()
    .from(reservations)
    .where(eq(reservations.pid, sql.placeholder('pid')))
    .prepare(),
}));

/** Sums stop at `sumMax`, so that an account without a limit never refuses. */
const saturate = (sum: number) => Math.min(sum, sumMax);

type Account = typeof accounts.$inferSelect;

/** Rows of accounts are read, changed and written in the caller's unit: nobody else writes meanwhile. */
@injectable()
export class SqlAccountRepository implements AccountRepository {
  async insert(tx: WriteTx, n: number, limits: Partial<Budget>, stored: number): Promise<void> {
    accountRows.insert(tx, { ...emptyAccount, ...limitsOf(limits), n, storedBytesUsed: stored });
  }

  async find(tx: ReadTx, n: number): Promise<AccountRow | undefined> {
    const [account, process] = [await accountRows.get(tx, n), await processRows.getBy(tx, n)];
    if (account === undefined || process === undefined) return undefined;
    return { ...toRow(account), pid: process.pid, deadlineAt: process.deadlineAt };
  }

  async findAll(tx: ReadTx, numbers: readonly number[]): Promise<AccountRow[]> {
    const found = await accountRows.getAll(tx, numbers);
    const owners = new Map((await processRows.getAllBy(tx, numbers)).map((process) => [process.n, process]));
    return found.flatMap((account) => {
      const owner = owners.get(account.n);
      return owner === undefined ? [] : [{ ...toRow(account), pid: owner.pid, deadlineAt: owner.deadlineAt }];
    });
  }

  async countSpawned(tx: ReadTx, numbers: readonly number[]): Promise<ReadonlyMap<number, number>> {
    return new Map((await accountRows.getAll(tx, numbers)).map(({ n, born }) => [n, born]));
  }

  async load(tx: WriteTx, numbers: readonly number[]): Promise<void> {
    await accountRows.getAll(tx, numbers);
  }

  async setLimits(tx: WriteTx, n: number, limits: Partial<Budget>): Promise<void> {
    await this.change(tx, n, (account) => ({ ...account, ...limitsOf(limits) }));
  }

  async takeChildSlot(tx: WriteTx, n: number, levels: number, born: 0 | 1, storedBytes: number): Promise<boolean> {
    return this.change(tx, n, (account) => {
      const { childrenUsed, childrenLimit, depthLimit } = account;
      const fits =
        childrenUsed + 1 <= (childrenLimit ?? sumMax) &&
        levels <= (depthLimit ?? levels) &&
        hasRoomFor(account, 'storedBytes', storedBytes);
      if (!fits) return undefined;
      const storedBytesUsed = saturate(account.storedBytesUsed + storedBytes);
      return { ...account, childrenUsed: childrenUsed + 1, born: account.born + born, storedBytesUsed };
    });
  }

  async freeChildSlots(tx: WriteTx, n: number, count: number): Promise<void> {
    await this.change(tx, n, (account) => ({ ...account, childrenUsed: account.childrenUsed - count }));
  }

  async charge(tx: WriteTx, n: number, usage: Usage): Promise<boolean> {
    return this.change(tx, n, (account) => (hasRoom(account, usage) ? withUsed(account, usage) : undefined));
  }

  async reserve(tx: WriteTx, n: number, usage: Usage): Promise<boolean> {
    return this.change(tx, n, (account) => (hasRoom(account, usage) ? withReserved(account, usage, 1) : undefined));
  }

  async settle(tx: WriteTx, n: number, reserved: Usage, used: Usage): Promise<void> {
    await this.change(tx, n, (account) => withReserved(withUsed(account, used), reserved, -1));
  }

  async addStored(tx: WriteTx, n: number, storedBytes: number): Promise<void> {
    await this.change(tx, n, (account) => ({
      ...account,
      storedBytesUsed: Math.max(0, saturate(account.storedBytesUsed + storedBytes)),
    }));
  }

  async insertReservation(tx: WriteTx, reservation: Reservation): Promise<void> {
    reservationRows.insert(tx, reservation);
  }

  async findReservation(tx: ReadTx, id: ReservationId): Promise<Reservation | undefined> {
    return reservationRows.get(tx, id);
  }

  async findReservations(tx: ReadTx, ids: readonly ReservationId[]): Promise<Reservation[]> {
    return reservationRows.getAll(tx, ids);
  }

  async loadReservations(tx: WriteTx, pids: readonly string[]): Promise<void> {
    await reservationRows.loadLists(tx, 'ofProcess', pids);
  }

  async reservationsOf(tx: ReadTx, pid: string): Promise<Reservation[]> {
    return (
      (await reservationRows.list(tx, 'ofProcess', pid)) ?? (await statements.read(tx).reservationsOf.all({ pid }))
    );
  }

  async deleteReservation(tx: WriteTx, id: ReservationId): Promise<void> {
    await reservationRows.remove(tx, id);
  }

  async delete(tx: WriteTx, n: number, above: number | undefined): Promise<void> {
    await accountRows.remove(tx, n);
    if (above !== undefined) await this.change(tx, above, (account) => ({ ...account, born: account.born - 1 }));
  }

  /** Whether there is such an account and `next` has not refused. */
  private async change(tx: WriteTx, n: number, next: (account: Account) => Account | undefined): Promise<boolean> {
    const account = await accountRows.get(tx, n);
    const changed = account === undefined ? undefined : next(account);
    if (changed === undefined) return false;
    await accountRows.put(tx, changed);
    return true;
  }
}

/** An account without limits of which nothing is used. */
const emptyAccount = Object.fromEntries(
  Object.entries(getTableColumns(accounts)).map(([name, { notNull }]) => [name, notNull ? 0 : null]),
) as Account;

function hasRoom(account: Account, usage: Usage): boolean {
  return chargedDimensions.every((dimension) => hasRoomFor(account, dimension, usage[dimension] ?? 0));
}

/** Whether the amount stays within the limit of the dimension. */
function hasRoomFor(account: Account, dimension: ChargedDimension, amount: number): boolean {
  const limit = account[`${dimension}Limit`];
  if (amount === 0 || limit === null) return true;
  return saturate(account[`${dimension}Used`] + account[`${dimension}Reserved`] + amount) <= limit;
}

function withUsed(account: Account, usage: Usage): Account {
  const next = { ...account };
  for (const dimension of chargedDimensions) {
    next[`${dimension}Used`] = saturate(account[`${dimension}Used`] + (usage[dimension] ?? 0));
  }
  return next;
}

function withReserved(account: Account, usage: Usage, sign: 1 | -1): Account {
  const next = { ...account };
  for (const dimension of chargedDimensions) next[`${dimension}Reserved`] += sign * (usage[dimension] ?? 0);
  return next;
}

function limitsOf(limits: Partial<Budget>): Record<`${Dimension}Limit`, number | null> {
  return Object.fromEntries(
    budgetDimensions.map((dimension) => [`${dimension}Limit`, limits[dimension] ?? null]),
  ) as Record<`${Dimension}Limit`, number | null>;
}

function toRow(account: typeof accounts.$inferSelect): Omit<AccountRow, 'pid' | 'deadlineAt'> {
  const charged = Object.fromEntries(
    chargedDimensions.map((dimension) => [
      dimension,
      {
        limit: account[`${dimension}Limit`],
        used: account[`${dimension}Used`],
        reserved: account[`${dimension}Reserved`],
      },
    ]),
  ) as Pick<AccountRow, ChargedDimension>;
  return {
    n: account.n,
    ...charged,
    children: { limit: account.childrenLimit, used: account.childrenUsed, reserved: 0 },
    depth: { limit: account.depthLimit, used: 0, reserved: 0 },
    wallMs: { limit: account.wallMsLimit, used: 0, reserved: 0 },
  };
}
