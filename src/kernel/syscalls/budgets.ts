import { inject, injectable } from 'inversify';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { ReservationId } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import { parseId } from '../../base/spec.js';
import { Store, type WriteTx } from '../../base/store.js';
import type { Caller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import { AccountRepository } from '../budget/account-repository.js';
import { Accounts, limitsOf } from '../budget/accounts.js';
import type { Budget, BudgetReport, Usage } from '../budget/budget.js';
import type { ProcessRow } from '../process/process.js';
import { earliestDeadline } from '../process/process.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { ProcessRepository, saveProcess } from '../process/process-repository.js';
import { limitsSpec, parse, parsePid, reserveOptions, settledUsageSpec, usageSpec } from '../specs.js';

/** charge, reserve, settle, budget, setBudget. */
@injectable()
export class Budgets {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(Units) private readonly units: Units,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(AccountRepository) private readonly repository: AccountRepository,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /** Charges usage to the process and all above it, or to none. Throws BUDGET_EXCEEDED naming the process whose limit refused it. */
  charge(caller: Caller, input: unknown, rawUsage: unknown): Promise<BudgetReport> {
    const pid = parsePid(input);
    const usage = parse(usageSpec, rawUsage, 'usage') as Usage;
    return this.units.commit({ caller, actor: pid, action: 'budget.charge', target: pid }, async (tx, act) => {
      const row = await this.lookup.getLive(tx, pid);
      await this.accounts.charge(tx, row, usage);
      this.recorder.record(tx, act, row, {
        event: 'budget.charged',
        data: { usage: usage as JsonObject },
        action: 'budget.charge',
        facts: { usage: usage as JsonObject },
      });
      return this.accounts.report(tx, row, act.at);
    });
  }

  /** Reserves a ceiling for a call whose cost is not known yet. Throws BUDGET_EXCEEDED. */
  reserve(caller: Caller, input: unknown, rawUsage: unknown, rawOptions: unknown = {}): Promise<ReservationId> {
    const pid = parsePid(input);
    const asked = parse(usageSpec, rawUsage, 'usage') as Usage;
    const { partial } = parse(reserveOptions, rawOptions, 'options');
    return this.units.commit({ caller, actor: pid, action: 'budget.reserve', target: pid }, async (tx, act) => {
      const row = await this.lookup.getLive(tx, pid);
      const usage = partial ? await this.accounts.capToRoom(tx, row, asked) : asked;
      const reservation = await this.accounts.reserve(tx, row, usage, act.at);
      const facts = { reservation, usage: usage as JsonObject };
      this.recorder.record(tx, act, row, { event: 'budget.reserved', data: facts, action: 'budget.reserve', facts });
      return reservation;
    });
  }

  /**
   * Replaces a reservation by the usage, which may pass the limit; beyond `chargeMax` it is cut. Throws NO_SUCH_RESERVATION, also to a process for a
   * reservation of another process.
   */
  settle(caller: Caller, input: unknown, rawUsage: unknown): Promise<BudgetReport> {
    const id = parseId(input, 'reservation');
    const usage = parse(settledUsageSpec, rawUsage, 'usage') as Usage;
    const actor = caller.face === 'host' ? 'host' : caller.pid;
    return this.units.commit({ caller, actor, action: 'budget.settle', kind: 'record' }, async (tx, act) => {
      const reservation = await this.accounts.getOwnReservation(
        tx,
        id,
        caller.face === 'host' ? undefined : caller.pid,
      );
      const row = await this.lookup.get(tx, reservation.pid);
      await this.accounts.settle(tx, row, reservation, usage);
      const facts = { reservation: id, usage: usage as JsonObject };
      const by = caller.face === 'host' ? { ...act, actor: row.pid } : act;
      this.recorder.record(tx, by, row, { event: 'budget.settled', data: facts, action: 'budget.settle', facts });
      return this.accounts.report(tx, row, act.at);
    });
  }

  report(input: unknown): Promise<BudgetReport> {
    const pid = parsePid(input);
    return this.store.read(async (tx) => this.accounts.report(tx, await this.lookup.get(tx, pid), this.clock.peek()));
  }

  /** Changes limits of a live process; those not named stay. Throws PROCESS_TERMINATED. */
  setLimits(caller: Caller, input: unknown, rawLimits: unknown): Promise<BudgetReport> {
    const pid = parsePid(input);
    const limits = parse(limitsSpec, rawLimits, 'limits') as Partial<Budget>;
    return this.units.commit({ caller, actor: 'host', action: 'budget.set', target: pid }, async (tx, act) => {
      const row = await this.lookup.getLive(tx, pid);
      const before = limitsOf(await this.accounts.get(tx, row.n));
      await this.repository.setLimits(tx, row.n, { ...before, ...limits });
      const next = limits.wallMs === undefined ? row : await this.saveDeadline(tx, row, limits.wallMs, act.at);
      this.recorder.record(tx, act, next, {
        event: 'budget.limited',
        data: { limits: limits as JsonObject, ...(next.deadlineAt === null ? {} : { deadlineAt: next.deadlineAt }) },
        action: 'budget.set',
        facts: { before: before as JsonObject, limits: limits as JsonObject },
        lineage: true,
      });
      return this.accounts.report(tx, next, act.at);
    });
  }

  /** Recomputes the deadline from the new limit; it stays within the deadline of the process above. */
  private async saveDeadline(tx: WriteTx, row: ProcessRow, wallMs: number, at: number): Promise<ProcessRow> {
    const above = row.bornUnder === null ? null : await this.lookup.get(tx, row.bornUnder);
    const deadlineAt = earliestDeadline(row.createdAt, { deadlineMs: row.deadlineMs, wallMs }, above);
    const alarmAt = row.status === 'stopping' ? row.alarmAt : deadlineAt;
    const next = { ...row, deadlineAt, alarmAt, version: row.version + 1, updatedAt: at };
    await saveProcess(this.processes, tx, next);
    return next;
  }
}
