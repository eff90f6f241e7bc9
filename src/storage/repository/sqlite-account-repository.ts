import type Database from 'better-sqlite3';
import { and, eq, isNull, lte, or, type SQL, sql } from 'drizzle-orm';
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
import { processes } from '../schema/processes.js';
import type { Db } from '../sqlite/connection.js';
import { done, prepareStatements } from '../sqlite/sqlite-tx.js';
import { compileWrite } from '../sqlite/write-statements.js';

const limitOf = (dimension: ChargedDimension) => accounts[`${dimension}Limit`];
const usedOf = (dimension: ChargedDimension) => accounts[`${dimension}Used`];
const reservedOf = (dimension: ChargedDimension) => accounts[`${dimension}Reserved`];

/** The column after an addition. Sums stop at `sumMax`, so that an account without a limit never refuses. */
const saturated = (sum: SQL) => sql`min(${sum}, ${sumMax})`;

/** Whether the requested amount stays within the limit of the dimension. */
function hasRoomFor(dimension: ChargedDimension): SQL | undefined {
  const asked = sql.placeholder(dimension);
  const sum = saturated(sql`${usedOf(dimension)} + ${reservedOf(dimension)} + ${asked}`);
  return or(sql`${asked} = 0`, isNull(limitOf(dimension)), lte(sum, limitOf(dimension)));
}

const hasRoom = () => and(...chargedDimensions.map(hasRoomFor));

const usedAfter = (dimension: ChargedDimension) => saturated(sql`${usedOf(dimension)} + ${sql.placeholder(dimension)}`);

function charged(): Record<string, SQL> {
  return Object.fromEntries(chargedDimensions.map((dimension) => [`${dimension}Used`, usedAfter(dimension)]));
}

function reserved(): Record<string, SQL> {
  return Object.fromEntries(
    chargedDimensions.map((dimension) => [
      `${dimension}Reserved`,
      sql`${reservedOf(dimension)} + ${sql.placeholder(dimension)}`,
    ]),
  );
}

function settlement(): Record<string, SQL> {
  return Object.fromEntries(
    chargedDimensions.flatMap((dimension) => [
      [`${dimension}Used`, usedAfter(dimension)],
      [`${dimension}Reserved`, sql`${reservedOf(dimension)} - ${sql.placeholder(`${dimension}Reserved`)}`],
    ]),
  );
}

const isRow = eq(accounts.n, sql.placeholder('n'));
const limitPlaceholders = Object.fromEntries(
  budgetDimensions.map((dimension) => [`${dimension}Limit`, sql.placeholder(dimension)]),
) as Record<`${Dimension}Limit`, ReturnType<typeof sql.placeholder>>;

const statements = prepareStatements((db: Db, raw: Database.Database) => ({
  insert: compileWrite(
    raw,
    db.insert(accounts).values({
      n: sql.placeholder('n'),
      storedBytesUsed: sql.placeholder('stored'),
      ...limitPlaceholders,
    }),
  ),
  find: db
    .select({ account: accounts, pid: processes.pid, deadlineAt: processes.deadlineAt })
    .from(accounts)
    .innerJoin(processes, eq(processes.n, accounts.n))
    .where(isRow)
    .prepare(),
  setLimits: compileWrite(raw, db.update(accounts).set(assignments(limitPlaceholders)).where(isRow)),
  takeChildSlot: compileWrite(
    raw,
    db
      .update(accounts)
      .set({
        childrenUsed: sql`${accounts.childrenUsed} + 1`,
        born: sql`${accounts.born} + ${sql.placeholder('born')}`,
        storedBytesUsed: usedAfter('storedBytes'),
      })
      .where(
        and(
          isRow,
          or(isNull(accounts.childrenLimit), lte(sql`${accounts.childrenUsed} + 1`, accounts.childrenLimit)),
          or(isNull(accounts.depthLimit), lte(sql.placeholder('levels'), accounts.depthLimit)),
          hasRoomFor('storedBytes'),
        ),
      ),
  ),
  freeChildSlots: compileWrite(
    raw,
    db
      .update(accounts)
      .set({ childrenUsed: sql`${accounts.childrenUsed} - ${sql.placeholder('count')}` })
      .where(isRow),
  ),
  charge: compileWrite(raw, db.update(accounts).set(charged()).where(and(isRow, hasRoom()))),
  reserve: compileWrite(raw, db.update(accounts).set(reserved()).where(and(isRow, hasRoom()))),
  settle: compileWrite(raw, db.update(accounts).set(settlement()).where(isRow)),
  addStored: compileWrite(
    raw,
    db
      .update(accounts)
      .set({ storedBytesUsed: sql`max(0, ${usedAfter('storedBytes')})` })
      .where(isRow),
  ),
  delete: compileWrite(raw, db.delete(accounts).where(isRow)),
  decrementChildren: compileWrite(
    raw,
    db
      .update(accounts)
      .set({ born: sql`${accounts.born} - 1` })
      .where(isRow),
  ),
  insertReservation: compileWrite(
    raw,
    db.insert(reservations).values({
      id: sql.placeholder('id'),
      pid: sql.placeholder('pid'),
      usage: sql.placeholder('usage'),
      at: sql.placeholder('at'),
      underway: sql.placeholder('underway'),
    }),
  ),
  findReservation: db
    .select()
    .from(reservations)
    .where(eq(reservations.id, sql.placeholder('id')))
    .prepare(),
  reservationsOf: db
    .select()
    .from(reservations)
    .where(eq(reservations.pid, sql.placeholder('pid')))
    .prepare(),
  deleteReservation: compileWrite(raw, db.delete(reservations).where(eq(reservations.id, sql.placeholder('id')))),
}));

/** Converts placeholders to SQL, which drizzle's `set` takes. */
function assignments(columns: Record<string, ReturnType<typeof sql.placeholder>>): Record<string, SQL> {
  return Object.fromEntries(Object.entries(columns).map(([name, placeholder]) => [name, sql`${placeholder}`]));
}

@injectable()
export class SqliteAccountRepository implements AccountRepository {
  insert(tx: WriteTx, n: number, limits: Partial<Budget>, stored: number): Promise<void> {
    statements.write(tx).insert.run({ ...withNulls(n, limits), stored });
    return done;
  }

  async find(tx: ReadTx, n: number): Promise<AccountRow | undefined> {
    const found = statements.read(tx).find.get({ n });
    return found === undefined ? undefined : { ...toRow(found.account), pid: found.pid, deadlineAt: found.deadlineAt };
  }

  async setLimits(tx: WriteTx, n: number, limits: Partial<Budget>): Promise<void> {
    statements.write(tx).setLimits.run(withNulls(n, limits));
  }

  async takeChildSlot(tx: WriteTx, n: number, levels: number, born: 0 | 1, storedBytes: number): Promise<boolean> {
    return statements.write(tx).takeChildSlot.run({ n, levels, born, storedBytes }).changes === 1;
  }

  async freeChildSlots(tx: WriteTx, n: number, count: number): Promise<void> {
    statements.write(tx).freeChildSlots.run({ n, count });
  }

  async charge(tx: WriteTx, n: number, usage: Usage): Promise<boolean> {
    return statements.write(tx).charge.run({ ...withZeros(usage), n }).changes === 1;
  }

  async reserve(tx: WriteTx, n: number, usage: Usage): Promise<boolean> {
    return statements.write(tx).reserve.run({ ...withZeros(usage), n }).changes === 1;
  }

  async settle(tx: WriteTx, n: number, reserved: Usage, used: Usage): Promise<void> {
    const reservedValues = Object.entries(withZeros(reserved)).map(([dimension, amount]) => [
      `${dimension}Reserved`,
      amount,
    ]);
    statements.write(tx).settle.run({ ...withZeros(used), ...Object.fromEntries(reservedValues), n });
  }

  async addStored(tx: WriteTx, n: number, storedBytes: number): Promise<void> {
    statements.write(tx).addStored.run({ n, storedBytes });
  }

  async insertReservation(tx: WriteTx, reservation: Reservation): Promise<void> {
    statements.write(tx).insertReservation.run({ ...reservation });
  }

  async findReservation(tx: ReadTx, id: ReservationId): Promise<Reservation | undefined> {
    return statements.read(tx).findReservation.get({ id });
  }

  async reservationsOf(tx: ReadTx, pid: string): Promise<Reservation[]> {
    return statements.read(tx).reservationsOf.all({ pid });
  }

  async deleteReservation(tx: WriteTx, id: ReservationId): Promise<void> {
    statements.write(tx).deleteReservation.run({ id });
  }

  async delete(tx: WriteTx, n: number, above: number | undefined): Promise<void> {
    statements.write(tx).delete.run({ n });
    if (above !== undefined) statements.write(tx).decrementChildren.run({ n: above });
  }
}

function withZeros(usage: Usage): Record<ChargedDimension, number> {
  const { toolCalls = 0, tokens = 0, costMicros = 0, materializedTokens = 0, outputBytes = 0, storedBytes = 0 } = usage;
  return { toolCalls, tokens, costMicros, materializedTokens, outputBytes, storedBytes };
}

function withNulls(n: number, limits: Partial<Budget>): Record<Dimension, number | null> & { n: number } {
  return {
    n,
    toolCalls: limits.toolCalls ?? null,
    tokens: limits.tokens ?? null,
    costMicros: limits.costMicros ?? null,
    materializedTokens: limits.materializedTokens ?? null,
    outputBytes: limits.outputBytes ?? null,
    storedBytes: limits.storedBytes ?? null,
    children: limits.children ?? null,
    depth: limits.depth ?? null,
    wallMs: limits.wallMs ?? null,
  };
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
