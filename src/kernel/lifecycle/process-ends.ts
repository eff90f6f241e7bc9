import { inject, injectable } from 'inversify';
import type { ObjectId, Pid } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import type { WriteTx } from '../../base/store.js';
import { Grants } from '../../capability/holding/grants.js';
import type { Act } from '../../unit/act.js';
import type { AuditAction } from '../../unit/actions.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Accounts } from '../budget/accounts.js';
import { CommandEnds } from '../command/command-ends.js';
import { MessageRepository } from '../message/message-repository.js';
import { isDriven, isTerminal, type Outcome, type ProcessRow, type StopOrder } from '../process/process.js';
import { ProcessRepository } from '../process/process-repository.js';
import { saveMovedProcess, saveProcess } from '../process/save-process.js';
import { nextState } from '../process/transitions.js';
import { Waker } from '../waiting/waker.js';

/** The end of one process. */
export interface End {
  readonly row: ProcessRow;
  /** The row in its last state, as the transition table gives it. */
  readonly ended: ProcessRow;
  readonly outcome: Outcome;
  readonly action: AuditAction;
  readonly message?: string;
  readonly result?: ObjectId;
  /** What the parent of a command in the background is told. */
  readonly told?: JsonObject;
}

/** Processes to be stopped: the driven ones get the grace, the others end at once. */
export interface Stop {
  readonly rows: readonly ProcessRow[];
  readonly order: StopOrder;
  /** Absent: what its kind is given. */
  readonly graceMs?: number | undefined;
  readonly action: AuditAction;
}

/**
 * Every way a process ends. What its end brings about is in the same unit: places and reservations given back, live
 * children treated by their own `onParentExit`, what it made handed to its parent.
 */
@injectable()
export class ProcessEnds {
  private order = 0;

  constructor(
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(Grants) private readonly grants: Grants,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(Waker) private readonly wakes: Waker,
    @inject(MessageRepository) private readonly messages: MessageRepository,
    @inject(CommandEnds) private readonly commands: CommandEnds,
  ) {}

  end(tx: WriteTx, act: Act, end: End): Promise<void> {
    return this.carryOut(tx, act, new Plan([end]));
  }

  /** The end of a process that was being stopped: the one that was ordered. */
  endStopping(tx: WriteTx, act: Act, row: ProcessRow, action: AuditAction): Promise<void> {
    const outcome: Outcome = row.stop ?? { kind: 'cancelled' };
    return this.end(tx, act, { row, ended: nextState(row, 'end'), outcome, action });
  }

  /** A command that runs ends when nothing of it is left: until then it is stopping, without a grace. */
  async kill(tx: WriteTx, act: Act, rows: readonly ProcessRow[], order: StopOrder): Promise<void> {
    const action = 'process.kill';
    const [held, others] = [rows.filter(isHeldCommand), rows.filter((row) => !isHeldCommand(row))];
    const plan = new Plan(others.map((row) => ({ row, ended: nextState(row, 'kill'), outcome: { ...order }, action })));
    plan.stop({ rows: held, order, graceMs: 0, action }, true);
    await this.carryOut(tx, act, plan);
  }

  stop(tx: WriteTx, act: Act, stop: Stop): Promise<void> {
    const plan = new Plan([]);
    plan.stop(stop);
    return this.carryOut(tx, act, plan);
  }

  private async carryOut(tx: WriteTx, act: Act, plan: Plan): Promise<void> {
    const orphans = await this.orphans(tx, plan);
    for (const { row, stop } of plan.stopping.values()) await this.writeStopping(tx, act, row, stop);
    for (const end of plan.ends.values()) await this.writeEnd(tx, act, end);
    await this.accounts.leave(
      tx,
      [...plan.ends.values()].map(({ row }) => row),
    );
    for (const child of orphans) await this.moveOrphan(tx, act, plan, child);
    for (const end of plan.ends.values()) await this.handUp(tx, act, plan, end);
  }

  /** Adds the children that end with their parent to the plan, wave by wave, and answers with those that live on. */
  private async orphans(tx: WriteTx, plan: Plan): Promise<ProcessRow[]> {
    const orphans: ProcessRow[] = [];
    for (let wave = [...plan.ends.keys()]; wave.length > 0; ) {
      const seen = plan.ends.size;
      for (const { pid, parent } of await this.processes.liveChildren(tx, wave)) {
        const child = plan.has(pid) ? undefined : await this.processes.find(tx, pid);
        if (child === undefined || child.status === 'stopping') continue;
        if (child.onParentExit !== 'cancel') orphans.push(child);
        else plan.stop(parentExited(parent ?? 'host', await this.processes.liveTree(tx, pid)));
      }
      wave = [...plan.ends.keys()].slice(seen);
    }
    return orphans.filter(({ pid }) => !plan.has(pid));
  }

  private async writeStopping(tx: WriteTx, act: Act, row: ProcessRow, stop: Stop): Promise<void> {
    const alarmAt = act.at + (stop.graceMs ?? graceMsOf(row));
    const stopping = row.status === 'stopping' ? { ...row, version: row.version + 1 } : nextState(row, 'stop');
    const next = { ...stopping, stop: stop.order, alarmAt, updatedAt: act.at };
    await this.update(tx, next);
    this.recorder.record(tx, act, next, {
      event: 'process.stopping',
      data: { outcome: stop.order.kind, alarmAt },
      action: stop.action,
      before: row.status,
      after: next.status,
      ...told(stop.order.reason),
      lineage: true,
    });
  }

  private async writeEnd(tx: WriteTx, act: Act, end: End): Promise<void> {
    const { row, outcome, message, result } = end;
    const next: ProcessRow = {
      ...end.ended,
      version: row.version + 1,
      outcome,
      message: message ?? null,
      result: result ?? null,
      exitedAt: act.at,
      exitOrder: ++this.order,
      updatedAt: act.at,
    };
    await this.update(tx, next);
    await this.settleUnderway(tx, act, row);
    await this.messages.clear(tx, row.pid);
    await this.commands.ended(tx, act, row, outcome, end.told ?? {});
    const { status } = next;
    this.recorder.record(tx, act, next, {
      event: 'process.exited',
      data: {
        status,
        outcome: outcome.kind,
        result: next.result,
        ...(row.parent === null ? {} : { parent: row.parent }),
      },
      action: end.action,
      before: row.status,
      after: status,
      facts: { outcome: outcome.kind, result: next.result },
      ...told(outcome.reason, message),
    });
  }

  private async settleUnderway(tx: WriteTx, act: Act, row: ProcessRow): Promise<void> {
    for (const { id, usage } of await this.accounts.releaseReservations(tx, row)) {
      const told = { reservation: id, usage: usage as JsonObject };
      this.recorder.record(tx, act, row, { event: 'budget.settled', data: told, action: 'budget.settle', facts: told });
    }
  }

  private async moveOrphan(tx: WriteTx, act: Act, plan: Plan, child: ProcessRow): Promise<void> {
    const heir = child.onParentExit === 'reparent' ? await this.liveAncestor(tx, plan, child) : undefined;
    const root = heir?.root ?? child.pid;
    const tree = root === child.root ? [child] : await this.processes.liveTree(tx, child.pid);
    for (const row of tree) {
      const parent = row.pid === child.pid ? (heir?.pid ?? null) : row.parent;
      const moved = { ...row, parent, root, version: row.version + 1, updatedAt: act.at };
      await saveMovedProcess(this.processes, tx, moved);
    }
    const to = heir?.pid ?? null;
    this.recorder.record(
      tx,
      act,
      { ...child, root },
      {
        event: 'process.reparented',
        data: { from: child.parent, to },
        action: 'process.reparent',
        facts: { from: child.parent, to },
        lineage: true,
      },
    );
  }

  private async liveAncestor(tx: WriteTx, plan: Plan, child: ProcessRow): Promise<ProcessRow | undefined> {
    const ancestors = await this.processes.ancestors(tx, child.pid);
    return ancestors.find((row) => !isTerminal(row.status) && !plan.ends.has(row.pid));
  }

  /** The parent is woken, and the result and what the process made stay readable for it. */
  private async handUp(tx: WriteTx, act: Act, plan: Plan, { row }: End): Promise<void> {
    if (row.parent === null || plan.ends.has(row.parent)) return;
    const parent = await this.processes.find(tx, row.parent);
    if (parent === undefined || isTerminal(parent.status)) return;
    const to = { pid: parent.pid, generation: parent.generation, at: act.at };
    await this.grants.insert(tx, [this.grants.createInherited(row.pid, to)]);
    await this.wakes.wake(tx, act, parent.pid, `child:${row.pid}`);
  }

  private async update(tx: WriteTx, next: ProcessRow): Promise<void> {
    await saveProcess(this.processes, tx, next);
  }
}

/** What ends and what is stopping in one unit, each process once. */
class Plan {
  readonly ends: Map<Pid, End>;
  readonly stopping = new Map<Pid, { readonly row: ProcessRow; readonly stop: Stop }>();

  constructor(ends: readonly End[]) {
    this.ends = new Map(ends.map((end) => [end.row.pid, end]));
  }

  has(pid: Pid): boolean {
    return this.ends.has(pid) || this.stopping.has(pid);
  }

  /** `again`: also those that are stopping already, which then have no more time than this leaves. */
  stop(stop: Stop, again = false): void {
    const { order, action } = stop;
    const outcome: Outcome = { ...order };
    for (const row of stop.rows) {
      if (this.has(row.pid) || (row.status === 'stopping' && !again)) continue;
      if (isDriven(row)) this.stopping.set(row.pid, { row, stop });
      else this.ends.set(row.pid, { row, ended: nextState(nextState(row, 'stop'), 'end'), outcome, action });
    }
  }
}

function parentExited(by: Pid, rows: readonly ProcessRow[]): Stop {
  return {
    rows,
    order: { kind: 'parent_exited', by },
    action: 'process.parentExit',
  };
}

/** What a cooperative stop leaves before it is forced. */
export const graceMsDefault = 5_000;
const commandGraceMs = 1_000;

function graceMsOf({ kind }: ProcessRow): number {
  return kind === 'command' ? commandGraceMs : graceMsDefault;
}

function isHeldCommand(row: ProcessRow): boolean {
  return row.kind === 'command' && isDriven(row);
}

function told(reason?: string, message?: string): { payload?: { reason?: string; message?: string } } {
  if (reason === undefined && message === undefined) return {};
  return { payload: { ...(reason === undefined ? {} : { reason }), ...(message === undefined ? {} : { message }) } };
}
