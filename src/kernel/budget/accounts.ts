import { inject, injectable } from 'inversify';
import { BudgetError, ProcessError } from '../../base/errors.js';
import { IdSource, type Pid, type ReservationId } from '../../base/ids.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import type { ProcessRow } from '../process/process.js';
import { AccountRepository, type AccountRow, type Reservation } from './account-repository.js';
import {
  type Balance,
  type Budget,
  type BudgetLine,
  type BudgetReport,
  budgetDimensions,
  budgetLine,
  chargedDimensions,
  type Dimension,
  depthDefault,
  type Usage,
} from './budget.js';

/**
 * Hierarchical budgets. A charge goes to the process and every account on the path it was born under, root first, all or
 * nothing: the caller's unit is undone when one of them refuses.
 */
@injectable()
export class Accounts {
  constructor(
    @inject(AccountRepository) private readonly repository: AccountRepository,
    @inject(IdSource) private readonly ids: IdSource,
  ) {}

  /** `n` is the number of the process's row. */
  open(tx: WriteTx, n: number, isRoot: boolean, limits: Partial<Budget>): Promise<void> {
    return this.repository.insert(tx, n, isRoot ? { depth: depthDefault, ...limits } : limits);
  }

  /** Takes one place for a child of `parent` on the whole path. Throws BUDGET_EXCEEDED for children and depth. */
  async enter(tx: WriteTx, parent: ProcessRow): Promise<void> {
    const path = accountPath(parent);
    for (const [index, n] of path.entries()) {
      const levels = path.length - index;
      if (await this.repository.enter(tx, n, levels, levels === 1 ? 1 : 0)) continue;
      const account = await this.account(tx, n);
      throw levels > (account.depth.limit ?? levels)
        ? exceeded('depth', account, levels)
        : exceeded('children', account, 1);
    }
  }

  /** Gives back the places of processes that end, one update per account however many they are. */
  async leave(tx: WriteTx, ended: readonly ProcessRow[]): Promise<void> {
    const counts = new Map<number, number>();
    for (const row of ended) for (const n of row.path) counts.set(n, (counts.get(n) ?? 0) + 1);
    for (const [n, count] of [...counts].sort(([a], [b]) => a - b)) await this.repository.leave(tx, n, count);
  }

  async charge(tx: WriteTx, row: ProcessRow, usage: Usage): Promise<void> {
    for (const n of accountPath(row)) {
      if (!(await this.repository.charge(tx, n, usage))) throw exceededBy(await this.account(tx, n), usage);
    }
  }

  async reserve(tx: WriteTx, row: ProcessRow, usage: Usage, at: number, underway = false): Promise<ReservationId> {
    for (const n of accountPath(row)) {
      if (!(await this.repository.reserve(tx, n, usage))) throw exceededBy(await this.account(tx, n), usage);
    }
    const id = this.ids.next('reservation');
    await this.repository.insertReservation(tx, { id, pid: row.pid, usage, at, underway });
    return id;
  }

  /** As much of it as every account on the path has room for; all of it where there is none, so that it is refused. */
  async withinReach(tx: ReadTx, row: ProcessRow, usage: Usage): Promise<Usage> {
    const narrowed = { ...usage };
    for (const n of accountPath(row)) {
      const account = await this.account(tx, n);
      for (const dimension of chargedDimensions) {
        const { limit, used, reserved } = account[dimension];
        const asked = narrowed[dimension];
        const room = (limit ?? Number.MAX_SAFE_INTEGER) - used - reserved;
        if (asked !== undefined && room > 0) narrowed[dimension] = Math.min(asked, room);
      }
    }
    return narrowed;
  }

  /** Undefined for one that was settled, or released when its process ended. */
  openReservation(tx: ReadTx, id: ReservationId): Promise<Reservation | undefined> {
    return this.repository.findReservation(tx, id);
  }

  /** `owner`: whose it has to be; absent: anybody's. */
  async reservation(tx: ReadTx, id: ReservationId, owner?: Pid): Promise<Reservation> {
    const found = await this.openReservation(tx, id);
    // What is under way is settled by its outcome, and by nobody else.
    if (found !== undefined && !found.underway && (owner ?? found.pid) === found.pid) return found;
    throw new BudgetError('NO_SUCH_RESERVATION', `There is no open reservation ${id}.`, {
      facts: { reservation: id },
      hint: 'It was settled already, or released when its process ended.',
    });
  }

  /** Never refused: what passes the limit is shown as overrun, and the next call is refused. */
  async settle(tx: WriteTx, row: ProcessRow, reservation: Reservation, used: Usage): Promise<void> {
    for (const n of accountPath(row)) await this.repository.settle(tx, n, reservation.usage, used);
    await this.repository.deleteReservation(tx, reservation.id);
  }

  /** Spends without a reservation and without a question: what it was spent on has happened. */
  async add(tx: WriteTx, row: ProcessRow, used: Usage): Promise<void> {
    for (const n of accountPath(row)) await this.repository.settle(tx, n, {}, used);
  }

  /** What is under way counts as used: answers with those reservations. */
  async releaseReservations(tx: WriteTx, row: ProcessRow): Promise<Reservation[]> {
    const all = await this.repository.reservationsOf(tx, row.pid);
    for (const reservation of all) {
      await this.settle(tx, row, reservation, reservation.underway ? reservation.usage : {});
    }
    return all.filter(({ underway }) => underway);
  }

  async account(tx: ReadTx, n: number): Promise<AccountRow> {
    const account = await this.repository.find(tx, n);
    if (account !== undefined) return account;
    throw new ProcessError('INTERNAL', `Account ${n} is missing.`, { hint: 'This is a defect of the kernel.' });
  }

  /** The budget as it binds `row` at `now`. */
  async report(tx: ReadTx, row: ProcessRow, now: number): Promise<BudgetReport> {
    const path: AccountRow[] = [];
    for (const n of accountPath(row)) path.push(await this.account(tx, n));
    const line = (dimension: Dimension, balanceOf: (account: AccountRow, levels: number) => Balance) =>
      [
        dimension,
        budgetLine(
          path.map((account, index) => ({ pid: account.pid, balance: balanceOf(account, path.length - 1 - index) })),
        ),
      ] as const;
    return Object.fromEntries([
      ...chargedDimensions.map((dimension) => line(dimension, (account) => account[dimension])),
      line('children', (account) => account.children),
      line('depth', (account, levels) => ({ ...account.depth, used: levels })),
      ['wallMs', wallLine(row, path, now)],
    ]) as BudgetReport;
  }
}

/** The accounts that a charge of `row` goes to, root first. */
function accountPath(row: ProcessRow): readonly number[] {
  return [...row.path, row.n];
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
function wallLine(row: ProcessRow, path: readonly AccountRow[], now: number): BudgetLine {
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

function exceededBy(account: AccountRow, usage: Usage): BudgetError {
  for (const dimension of chargedDimensions) {
    const asked = usage[dimension] ?? 0;
    const { limit, used, reserved } = account[dimension];
    const room = (limit ?? Number.MAX_SAFE_INTEGER) - used - reserved;
    if (asked > 0 && asked > room) return exceeded(dimension, account, asked);
  }
  throw new BudgetError('INTERNAL', 'A charge was refused that every limit allows.', {
    hint: 'This is a defect of the kernel.',
  });
}

function exceeded(dimension: Dimension, account: AccountRow, asked: number): BudgetError {
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
