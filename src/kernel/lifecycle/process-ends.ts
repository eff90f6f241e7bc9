import { inject, injectable } from 'inversify';
import type { Pid } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import type { WriteTx } from '../../base/store.js';
import { Turns } from '../../base/turns.js';
import { type CapabilityRecord, grantFacts, grantPayload } from '../../capability/holding/capability-record.js';
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
import { type CausedRecord, type End, EndPlan, type Stop, UnitRecords } from './end-plan.js';

/**
 * Ends processes, for whatever reason. The consequences are part of the same unit: child slots and reservations are freed,
 * live children are treated by their `onParentExit`, and the parent gets the right to read the result.
 */
@injectable()
export class ProcessEnds {
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
    return this.apply(tx, act, new EndPlan([end]));
  }

  /** Ends a process that is being stopped, with the outcome of its stop order. */
  endStopping(tx: WriteTx, act: Act, row: ProcessRow, action: AuditAction, evidence?: JsonObject): Promise<void> {
    const order: Outcome = stopOrderOf(row) ?? { kind: 'cancelled' };
    const outcome = evidence === undefined ? order : { ...order, evidence: { ...order.evidence, ...evidence } };
    return this.end(tx, act, { row, ended: nextState(row, 'end'), outcome, action });
  }

  /** Ends processes at once. A command that a node drives is stopping without a grace until its OS processes are gone. */
  async kill(tx: WriteTx, act: Act, rows: readonly ProcessRow[], order: StopOrder): Promise<void> {
    const action = 'process.kill';
    const [driven, others] = [rows.filter(isDrivenCommand), rows.filter((row) => !isDrivenCommand(row))];
    const plan = new EndPlan(
      others.map((row) => ({ row, ended: nextState(row, 'kill'), outcome: { ...order }, action })),
    );
    plan.stop({ rows: driven, order, graceMs: 0, action }, true);
    await this.apply(tx, act, plan);
  }

  stop(tx: WriteTx, act: Act, stop: Stop): Promise<void> {
    const plan = new EndPlan([]);
    plan.stop(stop);
    return this.apply(tx, act, plan);
  }

  /** Reads together what the ends of these processes need: to be called by a unit that ends several, one after another. */
  async load(tx: WriteTx, rows: readonly ProcessRow[]): Promise<void> {
    if (rows.length < 2) return;
    const pids = rows.map(({ pid }) => pid);
    await this.processes.findAll(tx, [...new Set(rows.flatMap(({ parent }) => parent ?? []))]);
    await this.processes.loadLiveChildren(tx, pids);
    await this.accounts.loadEnds(tx, rows);
    await this.messages.loadInboxes(tx, pids);
  }

  private async apply(tx: WriteTx, act: Act, plan: EndPlan): Promise<void> {
    const orphans = await this.addEndingChildren(tx, plan);
    const heirs = await this.findHeirs(tx, plan, orphans);
    await this.load(
      tx,
      [...plan.ends.values()].map(({ row }) => row),
    );
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
    const trees = await this.findTrees(
      tx,
      orphans.filter((child) => heirs.get(child) === undefined),
    );
    for (const child of orphans) {
      await turns.next();
      await this.moveOrphan(tx, act, child, heirs.get(child), trees);
    }
    for (const { holder, grantedBy: child } of inherited) {
      await turns.next();
      await this.waker.wake(tx, act, holder, `child:${child}`);
      this.followUps.announce(tx, child);
    }
  }

  /** Adds the children that end with their parents to the plan, level by level, and answers with those that live on. */
  private async addEndingChildren(tx: WriteTx, plan: EndPlan): Promise<ProcessRow[]> {
    const orphans: ProcessRow[] = [];
    for (let level = [...plan.ends.keys()]; level.length > 0; ) {
      const endsBefore = plan.ends.size;
      const children = await this.processes.findLiveChildren(tx, level);
      const left = children.filter(({ pid, status }) => status !== 'stopping' && !plan.has(pid));
      const [ending, living] = [left.filter(endsWithParent), left.filter((child) => !endsWithParent(child))];
      orphans.push(...living);
      const trees = await this.findTrees(tx, ending);
      for (const child of ending) plan.stop(stopAfterParent(child.parent ?? 'host', trees.get(child.pid) ?? []));
      level = [...plan.ends.keys()].slice(endsBefore);
    }
    return orphans.filter(({ pid }) => !plan.has(pid));
  }

  private async findTree(tx: WriteTx, top: ProcessRow): Promise<readonly ProcessRow[]> {
    return (await this.findTrees(tx, [top])).get(top.pid) ?? [];
  }

  /** The live trees under these processes, each by its topmost process; they are read together. */
  private async findTrees(tx: WriteTx, tops: readonly ProcessRow[]): Promise<Map<Pid, ProcessRow[]>> {
    const trees = new Map<Pid, ProcessRow[]>(tops.map(({ pid }) => [pid, []]));
    const treeOf = new Map(trees);
    const turns = new Turns();
    const rows = await this.processes.findLiveTrees(tx, [...trees.keys()]);
    for (const row of rows) {
      await turns.next();
      const tree = treeOf.get(row.pid) ?? treeOf.get(row.parent ?? '') ?? [];
      tree.push(row);
      treeOf.set(row.pid, tree);
    }
    return trees;
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
      exitOrder: await this.processes.nextExit(tx),
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

  private async moveOrphan(
    tx: WriteTx,
    act: Act,
    child: ProcessRow,
    to: Pid | undefined,
    trees: ReadonlyMap<Pid, readonly ProcessRow[]>,
  ): Promise<void> {
    // It may itself have been moved before, in this unit.
    const heir = to === undefined ? undefined : await this.processes.find(tx, to);
    const root = heir?.root ?? child.pid;
    for (const row of root === child.root ? [child] : (trees.get(child.pid) ?? (await this.findTree(tx, child)))) {
      const parent = row.pid === child.pid ? (heir?.pid ?? null) : row.parent;
      const moved = { ...row, parent, root, version: row.version + 1, updatedAt: act.at };
      await saveProcess(this.processes, tx, moved);
    }
    this.recorder.record(
      tx,
      act,
      { ...child, root },
      {
        event: 'process.reparented',
        data: { from: child.parent, to: heir?.pid ?? null },
        action: 'process.reparent',
        facts: { from: child.parent, to: heir?.pid ?? null },
        lineage: true,
      },
    );
  }

  /** The new parent of each orphan that gets one; the others become roots. */
  private async findHeirs(tx: WriteTx, plan: EndPlan, orphans: readonly ProcessRow[]): Promise<Map<ProcessRow, Pid>> {
    const heirs = new Map<ProcessRow, Pid>();
    const heirOf = new Map<Pid | null, Pid | undefined>();
    for (const child of orphans) {
      const { pid, parent, onParentExit } = child;
      if (onParentExit !== 'reparent') continue;
      if (!heirOf.has(parent)) {
        const ancestors = await this.processes.findAncestors(tx, pid);
        heirOf.set(parent, ancestors.find((row) => !isTerminal(row.status) && !plan.ends.has(row.pid))?.pid);
      }
      const heir = heirOf.get(parent);
      if (heir !== undefined) heirs.set(child, heir);
    }
    return heirs;
  }

  /** Lets the parent read the result and the other objects of the process, unless the parent has ended, or ends as well. */
  private async passToParent(
    tx: WriteTx,
    act: Act,
    plan: EndPlan,
    { row }: End,
  ): Promise<CapabilityRecord | undefined> {
    if (row.parent === null || plan.ends.has(row.parent)) return undefined;
    const parent = await this.processes.find(tx, row.parent);
    if (parent === undefined || isTerminal(parent.status)) return undefined;
    const to = { pid: parent.pid, generation: parent.generation, at: act.at };
    const inherited = this.grants.createInherited(row.pid, to);
    await this.grants.insert(tx, [inherited]);
    return inherited;
  }
}

function endsWithParent({ onParentExit }: ProcessRow): boolean {
  return onParentExit === 'cancel';
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
