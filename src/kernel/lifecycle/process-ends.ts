import { inject, injectable } from 'inversify';
import type { ObjectId, Pid } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import type { WriteTx } from '../../base/store.js';
import { Turns } from '../../base/turns.js';
import type { CapabilityRecord } from '../../capability/holding/capability-record.js';
import { grantFacts, grantPayload } from '../../capability/holding/grant-facts.js';
import { Grants } from '../../capability/holding/grants.js';
import type { Act } from '../../unit/act.js';
import type { AuditAction } from '../../unit/actions.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Accounts } from '../budget/accounts.js';
import { CommandEnds } from '../command/command-ends.js';
import { MessageRepository } from '../message/message-repository.js';
import {
  isDriven,
  isTerminal,
  type Outcome,
  type ProcessRow,
  type StopOrder,
  stopOrderOf,
} from '../process/process.js';
import { ProcessRepository, saveProcess } from '../process/process-repository.js';
import { nextState } from '../process/transitions.js';
import { ExitFollowUps } from '../waiting/exit-follow-ups.js';
import { Waker } from '../waiting/waker.js';

/** The end of one process. */
export interface End {
  readonly row: ProcessRow;
  /** The row after the transition to its last state. Absent: that of a stop without a grace. */
  readonly ended?: ProcessRow;
  readonly outcome: Outcome;
  readonly action: AuditAction;
  readonly message?: string;
  readonly result?: ObjectId;
  /** The capability by which the parent may read a result outside of the namespace of the process. */
  readonly shared?: CapabilityRecord;
  /** Added to the message that the parent of a background command gets. */
  readonly notice?: JsonObject;
}

/** Processes to be stopped. Those that a node drives, or that acknowledge a stop, get the grace; the others end at once. */
export interface Stop {
  readonly rows: readonly ProcessRow[];
  readonly order: StopOrder;
  /** Absent: the default of the process's kind. */
  readonly graceMs?: number | undefined;
  readonly action: AuditAction;
}

/**
 * Ends processes, for whatever reason. The consequences are part of the same unit: child slots and reservations are freed,
 * live children are treated by their `onParentExit`, and the parent gets the right to read the result.
 */
@injectable()
export class ProcessEnds {
  private endsCount = 0;

  constructor(
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(Accounts) private readonly accounts: Accounts,
    @inject(Grants) private readonly grants: Grants,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(Waker) private readonly waker: Waker,
    @inject(MessageRepository) private readonly messages: MessageRepository,
    @inject(CommandEnds) private readonly commandEnds: CommandEnds,
    @inject(ExitFollowUps) private readonly followUps: ExitFollowUps,
  ) {}

  end(tx: WriteTx, act: Act, end: End): Promise<void> {
    return this.apply(tx, act, new Plan([end]));
  }

  /** Ends a process that is being stopped, with the outcome of its stop order. */
  endStopping(tx: WriteTx, act: Act, row: ProcessRow, action: AuditAction): Promise<void> {
    const outcome: Outcome = stopOrderOf(row) ?? { kind: 'cancelled' };
    return this.end(tx, act, { row, ended: nextState(row, 'end'), outcome, action });
  }

  /** Ends processes at once. A command that a node drives is stopping without a grace until its OS processes are gone. */
  async kill(tx: WriteTx, act: Act, rows: readonly ProcessRow[], order: StopOrder): Promise<void> {
    const action = 'process.kill';
    const [driven, others] = [rows.filter(isDrivenCommand), rows.filter((row) => !isDrivenCommand(row))];
    const plan = new Plan(others.map((row) => ({ row, ended: nextState(row, 'kill'), outcome: { ...order }, action })));
    plan.stop({ rows: driven, order, graceMs: 0, action }, true);
    await this.apply(tx, act, plan);
  }

  stop(tx: WriteTx, act: Act, stop: Stop): Promise<void> {
    const plan = new Plan([]);
    plan.stop(stop);
    return this.apply(tx, act, plan);
  }

  private async apply(tx: WriteTx, act: Act, plan: Plan): Promise<void> {
    const orphans = await this.addEndingChildren(tx, plan);
    const records = new UnitRecords(plan, () => this.recorder.newRecordId());
    const turns = new Turns();
    for (const { row, stop } of plan.stopping.values()) {
      await turns.next();
      await this.writeStopping(tx, act, row, stop, records.of(row));
    }
    const inherited: CapabilityRecord[] = [];
    for (const end of plan.ends.values()) {
      await turns.next();
      const passedOn = await this.passToParent(tx, act, plan, end);
      if (passedOn !== undefined) inherited.push(passedOn);
      await this.writeEnd(tx, act, end, passedOn, records.of(end.row));
    }
    await this.accounts.freeChildSlots(
      tx,
      [...plan.ends.values()].map(({ row }) => row),
    );
    for (const child of orphans) {
      await turns.next();
      await this.moveOrphan(tx, act, plan, child);
    }
    for (const { holder, grantedBy: child } of inherited) {
      await turns.next();
      await this.waker.wake(tx, act, holder, `child:${child}`);
      this.followUps.announce(tx, child);
    }
  }

  /** Adds the children that end with their parents to the plan, level by level, and answers with those that live on. */
  private async addEndingChildren(tx: WriteTx, plan: Plan): Promise<ProcessRow[]> {
    const orphans: ProcessRow[] = [];
    const turns = new Turns();
    for (let level = [...plan.ends.keys()]; level.length > 0; ) {
      const endsBefore = plan.ends.size;
      for (const { pid, parent } of await this.processes.findLiveChildren(tx, level)) {
        await turns.next();
        const child = plan.has(pid) ? undefined : await this.processes.find(tx, pid);
        if (child === undefined || child.status === 'stopping') continue;
        if (child.onParentExit !== 'cancel') orphans.push(child);
        else plan.stop(stopAfterParent(parent ?? 'host', await this.processes.findLiveTree(tx, pid)));
      }
      level = [...plan.ends.keys()].slice(endsBefore);
    }
    return orphans.filter(({ pid }) => !plan.has(pid));
  }

  private async writeStopping(
    tx: WriteTx,
    act: Act,
    row: ProcessRow,
    stop: Stop,
    { record, cause }: CausedRecord,
  ): Promise<void> {
    const alarmAt = act.at + (stop.graceMs ?? graceMsOf(row));
    const stopping = row.status === 'stopping' ? { ...row, version: row.version + 1 } : nextState(row, 'stop');
    const next = { ...stopping, stop: { ...stop.order, record }, alarmAt, updatedAt: act.at };
    await saveProcess(this.processes, tx, next);
    this.recorder.record(tx, act, next, {
      event: 'process.stopping',
      data: { outcome: stop.order.kind, alarmAt },
      action: stop.action,
      before: row.status,
      after: next.status,
      ...payloadOf(stop.order.reason),
      lineage: true,
      record,
      cause,
    });
  }

  private async writeEnd(
    tx: WriteTx,
    act: Act,
    end: End,
    inherited: CapabilityRecord | undefined,
    { record, cause }: CausedRecord,
  ): Promise<void> {
    const { row, message, result } = end;
    const heir = (inherited ?? end.shared)?.holder;
    const outcome = withStop(end.outcome, row);
    const next: ProcessRow = {
      ...(end.ended ?? nextState(nextState(row, 'stop'), 'end')),
      version: row.version + 1,
      outcome,
      message: message ?? null,
      result: result ?? null,
      exitedAt: act.at,
      exitOrder: ++this.endsCount,
      updatedAt: act.at,
    };
    await saveProcess(this.processes, tx, next);
    await this.releaseReservations(tx, act, row);
    await this.messages.clear(tx, row.pid);
    await this.commandEnds.recordEnd(tx, act, row, outcome, end.notice ?? {});
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
      facts: {
        outcome: outcome.kind,
        result: next.result,
        ...(end.shared === undefined ? {} : grantFacts([end.shared], row.pid)),
        ...(inherited === undefined ? {} : { inherited: inherited.id }),
        ...(heir === undefined ? {} : { heir }),
        ...(outcome.stop === undefined ? {} : { stop: outcome.stop.kind }),
      },
      lineageOf: heir,
      ...payloadOf(outcome.reason, message, end.shared),
      record,
      cause,
    });
  }

  private async releaseReservations(tx: WriteTx, act: Act, row: ProcessRow): Promise<void> {
    for (const { id, usage } of await this.accounts.releaseReservations(tx, row)) {
      const facts = { reservation: id, usage: usage as JsonObject };
      this.recorder.record(tx, act, row, { event: 'budget.settled', data: facts, action: 'budget.settle', facts });
    }
  }

  private async moveOrphan(tx: WriteTx, act: Act, plan: Plan, child: ProcessRow): Promise<void> {
    const heir = child.onParentExit === 'reparent' ? await this.findLiveAncestor(tx, plan, child) : undefined;
    const root = heir?.root ?? child.pid;
    const tree = root === child.root ? [child] : await this.processes.findLiveTree(tx, child.pid);
    for (const row of tree) {
      const parent = row.pid === child.pid ? (heir?.pid ?? null) : row.parent;
      const moved = { ...row, parent, root, version: row.version + 1, updatedAt: act.at };
      await saveProcess(this.processes, tx, moved);
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

  private async findLiveAncestor(tx: WriteTx, plan: Plan, child: ProcessRow): Promise<ProcessRow | undefined> {
    const ancestors = await this.processes.findAncestors(tx, child.pid);
    return ancestors.find((row) => !isTerminal(row.status) && !plan.ends.has(row.pid));
  }

  /** Lets the parent read the result and the other objects of the process, unless the parent has ended, or ends as well. */
  private async passToParent(tx: WriteTx, act: Act, plan: Plan, { row }: End): Promise<CapabilityRecord | undefined> {
    if (row.parent === null || plan.ends.has(row.parent)) return undefined;
    const parent = await this.processes.find(tx, row.parent);
    if (parent === undefined || isTerminal(parent.status)) return undefined;
    const to = { pid: parent.pid, generation: parent.generation, at: act.at };
    const inherited = this.grants.createInherited(row.pid, to);
    await this.grants.insert(tx, [inherited]);
    return inherited;
  }
}

/** The processes that end and those that begin to stop in one unit, each once. */
class Plan {
  readonly ends: Map<Pid, End>;
  readonly stopping = new Map<Pid, { readonly row: ProcessRow; readonly stop: Stop }>();

  constructor(ends: readonly End[]) {
    this.ends = new Map(ends.map((end) => [end.row.pid, end]));
  }

  has(pid: Pid): boolean {
    return this.ends.has(pid) || this.stopping.has(pid);
  }

  /** `isRepeated`: processes that are stopping already get the grace of this stop instead of their own. */
  stop(stop: Stop, isRepeated = false): void {
    const { order, action } = stop;
    const outcome: Outcome = { ...order };
    for (const row of stop.rows) {
      if (this.has(row.pid) || (row.status === 'stopping' && !isRepeated)) continue;
      if (hasGrace(row)) this.stopping.set(row.pid, { row, stop });
      else this.ends.set(row.pid, { row, outcome, action });
    }
  }
}

/** The id of the record of a stop or an end, and of the record that caused it. */
interface CausedRecord {
  readonly record: string;
  readonly cause: string | undefined;
}

/**
 * The records of one unit. What is stopped or ends together with its parent follows from the record of the parent, and the end
 * of what was being stopped from the record of the stop.
 */
class UnitRecords {
  private readonly ids = new Map<Pid, string>();

  constructor(
    private readonly plan: Plan,
    private readonly newId: () => string,
  ) {}

  of({ pid, parent, status, stop }: ProcessRow): CausedRecord {
    const ofStop = status === 'stopping' ? stop?.record : undefined;
    const ofParent = parent !== null && this.plan.has(parent) ? this.idOf(parent) : undefined;
    return { record: this.idOf(pid), cause: ofStop ?? ofParent };
  }

  private idOf(pid: Pid): string {
    const id = this.ids.get(pid) ?? this.newId();
    this.ids.set(pid, id);
    return id;
  }
}

function stopAfterParent(by: Pid, rows: readonly ProcessRow[]): Stop {
  return {
    rows,
    order: { kind: 'parent_exited', by },
    action: 'process.parentExit',
  };
}

/** The time that a stopped process has to end, unless the caller says otherwise. */
export const graceMsDefault = 5_000;
const commandGraceMs = 1_000;

function graceMsOf({ kind }: ProcessRow): number {
  return kind === 'command' ? commandGraceMs : graceMsDefault;
}

/** A process that ends by itself while it is being stopped keeps its own outcome, with the stop beside it. */
function withStop(outcome: Outcome, row: ProcessRow): Outcome {
  const stop = stopOrderOf(row);
  const isOwn = outcome.kind === 'completed' || outcome.kind === 'failed';
  return isOwn && row.status === 'stopping' && stop !== null ? { ...outcome, stop } : outcome;
}

/** Whether somebody is to stop it before it ends: the node that drives it, or its worker outside. */
function hasGrace(row: ProcessRow): boolean {
  return isDriven(row) || row.acknowledgesStop === true;
}

function isDrivenCommand(row: ProcessRow): boolean {
  return row.kind === 'command' && isDriven(row);
}

function payloadOf(reason?: string, message?: string, shared?: CapabilityRecord): { payload?: JsonObject } {
  if (reason === undefined && message === undefined && shared === undefined) return {};
  return {
    payload: {
      ...(reason === undefined ? {} : { reason }),
      ...(message === undefined ? {} : { message }),
      ...(shared === undefined ? {} : grantPayload([shared]).payload),
    },
  };
}
