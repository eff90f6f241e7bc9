import { inject, injectable } from 'inversify';
import { BudgetError, ProcessError } from '../../base/errors.js';
import { IdSource, type Pid, type ReservationId } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { Turns } from '../../base/turns.js';
import type { MemoryCharges, StoredBytes } from '../../memory/memory-charges.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import type { ProcessRow } from '../process/process.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { ProcessRepository } from '../process/process-repository.js';
import { AccountRepository, type AccountRow, type Reservation } from './account-repository.js';
import {
  type Balance,
  type Budget,
  type BudgetLine,
  type BudgetReport,
  budgetDimensions,
  chargedDimensions,
  type Dimension,
  depthDefault,
  roomOf,
  toBudgetLine,
  type Usage,
} from './budget.js';

/**
 * Hierarchical budgets. A charge goes to the account of the process and to every account above it, root first, all or
 * nothing: the caller's unit is undone when one of them refuses.
 */
@injectable()
export class Accounts {
  constructor(
    @inject(AccountRepository) private readonly repository: AccountRepository,
    @inject(IdSource) private readonly ids: IdSource,
  ) {}

  /** Creates the account of a new process that begins with `storedBytes` stored for it. */
  open(tx: WriteTx, rowNumber: number, isRoot: boolean, limits: Partial<Budget>, storedBytes: number): Promise<void> {
    return this.repository.insert(tx, rowNumber, isRoot ? { depth: depthDefault, ...limits } : limits, storedBytes);
  }

  /**
   * Counts a new child of `parent`, and the bytes that are stored for it, in every account above it. Throws
   * BUDGET_EXCEEDED for children, depth and storedBytes.
   */
  async takeChildSlot(tx: WriteTx, parent: ProcessRow, storedBytes: number): Promise<void> {
    const path = await this.loadPath(tx, parent);
    for (const [index, rowNumber] of path.entries()) {
      const levels = path.length - index;
      if (await this.repository.takeChildSlot(tx, rowNumber, levels, levels === 1 ? 1 : 0, storedBytes)) continue;
      const account = await this.get(tx, rowNumber);
      if (levels > (account.depth.limit ?? levels)) throw budgetExceeded('depth', account, levels);
      if (roomOf(account.children) < 1) throw budgetExceeded('children', account, 1);
      throw budgetExceeded('storedBytes', account, storedBytes);
    }
  }

  /** Frees the slots of processes that end, with one update per account however many they are. */
  async freeChildSlots(tx: WriteTx, ended: readonly ProcessRow[]): Promise<void> {
    const counts = new Map<number, number>();
    for (const { path } of ended) for (const above of path) counts.set(above, (counts.get(above) ?? 0) + 1);
    const inOrder = [...counts].sort(([a], [b]) => a - b);
    await this.repository.load(
      tx,
      inOrder.map(([rowNumber]) => rowNumber),
    );
    const turns = new Turns();
    for (const [rowNumber, count] of inOrder) {
      await turns.next();
      await this.repository.freeChildSlots(tx, rowNumber, count);
    }
  }

  /** Throws BUDGET_EXCEEDED. */
  async charge(tx: WriteTx, row: ProcessRow, usage: Usage): Promise<void> {
    for (const rowNumber of await this.loadPath(tx, row)) {
      if (await this.repository.charge(tx, rowNumber, usage)) continue;
      throw budgetExceededBy(await this.get(tx, rowNumber), usage);
    }
  }

  /** `underway`: the effect that it is for has begun, so that it counts as used when the process ends. Throws BUDGET_EXCEEDED. */
  async reserve(tx: WriteTx, row: ProcessRow, usage: Usage, at: number, underway = false): Promise<ReservationId> {
    for (const rowNumber of await this.loadPath(tx, row)) {
      if (await this.repository.reserve(tx, rowNumber, usage)) continue;
      throw budgetExceededBy(await this.get(tx, rowNumber), usage);
    }
    const id = this.ids.next('reservation');
    await this.repository.insertReservation(tx, { id, pid: row.pid, usage, at, underway });
    return id;
  }

  /** Lowers `usage` to the room that every account above leaves. A dimension without any room is not lowered, so that it is refused. */
  async capToRoom(tx: ReadTx, row: ProcessRow, usage: Usage): Promise<Usage> {
    const capped = { ...usage };
    for (const account of await this.getPath(tx, row)) {
      for (const dimension of chargedDimensions) {
        const asked = capped[dimension];
        const room = roomOf(account[dimension]);
        if (asked !== undefined && room > 0) capped[dimension] = Math.min(asked, room);
      }
    }
    return capped;
  }

  /** Undefined for a reservation that was settled, or released when its process ended. */
  findReservation(tx: ReadTx, id: ReservationId): Promise<Reservation | undefined> {
    return this.repository.findReservation(tx, id);
  }

  findReservations(tx: ReadTx, ids: readonly ReservationId[]): Promise<Reservation[]> {
    return this.repository.findReservations(tx, ids);
  }

  /** `owner`: the process that must have made it; absent: any. Throws NO_SUCH_RESERVATION. */
  async getOwnReservation(tx: ReadTx, id: ReservationId, owner?: Pid): Promise<Reservation> {
    const found = await this.findReservation(tx, id);
    // A reservation for an effect that has begun is settled by the outcome of the effect only.
    if (found !== undefined && !found.underway && (owner ?? found.pid) === found.pid) return found;
    throw new BudgetError('NO_SUCH_RESERVATION', `There is no open reservation ${id}.`, {
      facts: { reservation: id },
      hint: 'It was settled already, or released when its process ended.',
    });
  }

  /** Never refused: usage beyond the limit is shown as overrun, and the next charge is refused. */
  async settle(tx: WriteTx, row: ProcessRow, reservation: Reservation, used: Usage): Promise<void> {
    for (const rowNumber of await this.loadPath(tx, row)) {
      await this.repository.settle(tx, rowNumber, reservation.usage, used);
    }
    await this.repository.deleteReservation(tx, reservation.id);
  }

  /** Adds bytes that are stored in any case, or takes them back where negative. Never refused. */
  async addStored(tx: WriteTx, row: ProcessRow, bytes: number): Promise<void> {
    for (const rowNumber of await this.loadPath(tx, row)) await this.repository.addStored(tx, rowNumber, bytes);
  }

  /**
   * Those of `rows` under which nothing that was spawned is left when the ones before them are pruned: children stand before
   * their parents.
   */
  async filterPrunable(tx: ReadTx, rows: readonly ProcessRow[]): Promise<ProcessRow[]> {
    const numbers = rows.map(({ n }) => n);
    const left = new Map(await this.repository.countSpawned(tx, numbers));
    return rows.filter(({ n, path }) => {
      if (left.get(n) !== 0) return false;
      const above = path.at(-1) ?? 0;
      left.set(above, (left.get(above) ?? 0) - 1);
      return true;
    });
  }

  /** Removes the account of a pruned process, and what is stored for it from the accounts above. */
  async close(tx: WriteTx, row: ProcessRow): Promise<void> {
    const { storedBytes } = await this.get(tx, row.n);
    if (storedBytes.used > 0) await this.addStored(tx, row, -storedBytes.used);
    await this.repository.delete(tx, row.n, row.path.at(-1));
  }

  /** Adds usage of something that has happened already. Never refused. */
  async addUsage(tx: WriteTx, row: ProcessRow, used: Usage): Promise<void> {
    for (const rowNumber of await this.loadPath(tx, row)) await this.repository.settle(tx, rowNumber, {}, used);
  }

  /** Releases all reservations of an ending process. Those for effects that have begun count as used, and are the answer. */
  async releaseReservations(tx: WriteTx, row: ProcessRow): Promise<Reservation[]> {
    const reservations = await this.repository.reservationsOf(tx, row.pid);
    for (const reservation of reservations) {
      await this.settle(tx, row, reservation, reservation.underway ? reservation.usage : {});
    }
    return reservations.filter(({ underway }) => underway);
  }

  async get(tx: ReadTx, rowNumber: number): Promise<AccountRow> {
    const account = await this.repository.find(tx, rowNumber);
    if (account !== undefined) return account;
    throw accountMissing(rowNumber);
  }

  /** Reads together what the ends of these processes change: their reservations, and the accounts that those are on. */
  async loadEnds(tx: WriteTx, rows: readonly ProcessRow[]): Promise<void> {
    await this.repository.loadReservations(
      tx,
      rows.map(({ pid }) => pid),
    );
    const numbers = new Set(rows.flatMap(({ path }) => path));
    for (const { n, pid } of rows) {
      if ((await this.repository.reservationsOf(tx, pid)).length > 0) numbers.add(n);
    }
    await this.repository.load(tx, [...numbers]);
  }

  /** Reads together all accounts that charges of these processes go to. */
  async loadPaths(tx: WriteTx, rows: readonly ProcessRow[]): Promise<void> {
    await this.repository.load(tx, [...new Set(rows.flatMap(accountPathOf))]);
  }

  /** The accounts that a charge of `row` goes to, root first, read together. */
  private async getPath(tx: ReadTx, row: ProcessRow): Promise<AccountRow[]> {
    const numbers = accountPathOf(row);
    const path = await this.repository.findAll(tx, numbers);
    if (path.length === numbers.length) return path;
    throw accountMissing(numbers.find((n) => path.every((account) => account.n !== n)));
  }

  /** The numbers of the accounts that a charge of `row` goes to, root first. The accounts are read together. */
  private async loadPath(tx: WriteTx, row: ProcessRow): Promise<readonly number[]> {
    const numbers = accountPathOf(row);
    if (numbers.length > 1) await this.repository.load(tx, numbers);
    return numbers;
  }

  /** The room in each limited account that a charge of `row` goes to, by row number; negative: overrun. */
  async limited(tx: ReadTx, row: ProcessRow, dimension: keyof Usage): Promise<Map<number, number>> {
    const left = new Map<number, number>();
    for (const account of await this.getPath(tx, row)) {
      const { limit, used, reserved } = account[dimension];
      if (limit !== null) left.set(account.n, limit - used - reserved);
    }
    return left;
  }

  /** The budget as it binds `row` at `now`. */
  async report(tx: ReadTx, row: ProcessRow, now: number): Promise<BudgetReport> {
    const path = await this.getPath(tx, row);
    const line = (dimension: Dimension, balanceOf: (account: AccountRow, levels: number) => Balance) =>
      [
        dimension,
        toBudgetLine(
          path.map((account, index) => ({ pid: account.pid, balance: balanceOf(account, path.length - 1 - index) })),
        ),
      ] as const;
    return Object.fromEntries([
      ...chargedDimensions.map((dimension) => line(dimension, (account) => account[dimension])),
      line('children', (account) => account.children),
      line('depth', (account, levels) => ({ ...account.depth, used: levels })),
      ['wallMs', wallTimeLine(row, path, now)],
    ]) as BudgetReport;
  }
}

/** Charges what memory renders and stores to the accounts of the process that asked for it. */
@injectable()
export class AccountCharges implements MemoryCharges {
  constructor(
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  async chargeTokens(tx: WriteTx, pid: Pid, at: number, materializedTokens: number): Promise<void> {
    const row = await this.lookup.getLive(tx, pid);
    const usage = { materializedTokens };
    await this.accounts.charge(tx, row, usage);
    this.recorder.recordEvent(tx, { type: 'budget.charged', at, pid, root: row.root, data: { usage } });
  }

  async chargeStored(tx: WriteTx, pid: Pid, storedBytes: number): Promise<void> {
    await this.accounts.charge(tx, await this.lookup.getLive(tx, pid), { storedBytes });
  }

  async addStored(tx: WriteTx, pid: Pid, bytes: number): Promise<void> {
    await this.accounts.addStored(tx, await this.lookup.get(tx, pid), bytes);
  }

  async returnStored(tx: WriteTx, bytes: StoredBytes): Promise<void> {
    for (const [pid, count] of bytes) {
      // The bytes of a pruned process were taken back when it was pruned.
      const row = pid === 'host' ? undefined : await this.processes.find(tx, pid);
      if (row !== undefined) await this.accounts.addStored(tx, row, -count);
    }
  }
}

/** The accounts that a charge of `row` goes to, root first. */
function accountPathOf(row: ProcessRow): readonly number[] {
  return [...row.path, row.n];
}

function accountMissing(rowNumber: number | undefined): ProcessError {
  return new ProcessError('INTERNAL', `Account ${rowNumber} is missing.`, { hint: 'This is a defect of the kernel.' });
}

export function limitsOf(account: AccountRow): Partial<Budget> {
  const limits = budgetDimensions.flatMap((dimension) => {
    const { limit } = account[dimension];
    return limit === null ? [] : [[dimension, limit] as const];
  });
  return Object.fromEntries(limits);
}

export function usageOf(account: AccountRow): Usage {
  return Object.fromEntries(chargedDimensions.map((dimension) => [dimension, account[dimension].used]));
}

/** Time binds by the earliest deadline on the path; it is named for the topmost process that has it. */
function wallTimeLine(row: ProcessRow, path: readonly AccountRow[], now: number): BudgetLine {
  const { deadlineAt } = row;
  return {
    limit: path.at(-1)?.wallMs.limit ?? null,
    used: (row.exitedAt ?? now) - row.createdAt,
    reserved: 0,
    left: deadlineAt === null ? null : Math.max(0, deadlineAt - now),
    overrun: 0,
    boundBy: deadlineAt === null ? null : (path.find((account) => account.deadlineAt === deadlineAt)?.pid ?? row.pid),
  };
}

function budgetExceededBy(account: AccountRow, usage: Usage): BudgetError {
  for (const dimension of chargedDimensions) {
    const asked = usage[dimension] ?? 0;
    if (asked > 0 && asked > roomOf(account[dimension])) return budgetExceeded(dimension, account, asked);
  }
  throw new BudgetError('INTERNAL', 'A charge was refused that every limit allows.', {
    hint: 'This is a defect of the kernel.',
  });
}

function budgetExceeded(dimension: Dimension, account: AccountRow, asked: number): BudgetError {
  const { limit, used, reserved } = account[dimension];
  return new BudgetError(
    'BUDGET_EXCEEDED',
    `The ${dimension} budget of process ${account.pid} leaves ${Math.max(0, (limit ?? 0) - used - reserved)}; ${asked} was asked.`,
    {
      facts: { dimension, process: account.pid, limit, used, reserved, asked },
      hint: `Raise it with processes.setBudget('${account.pid}', { ${dimension}: … }), or ask for less.`,
    },
  );
}
