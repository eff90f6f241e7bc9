import type { ObjectId, Pid } from '../../base/ids.js';
import type { JsonObject } from '../../base/json.js';
import type { CapabilityRecord } from '../../capability/holding/capability-record.js';
import type { AuditAction } from '../../unit/actions.js';
import { isDriven, type Outcome, type ProcessRow, type StopOrder } from '../process/process.js';

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

/** The processes that end and those that begin to stop in one unit, each once. */
export class EndPlan {
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
export interface CausedRecord {
  readonly record: string;
  readonly cause: string | undefined;
}

/**
 * The records of one unit. What is stopped or ends together with its parent follows from the record of the parent, and the end
 * of what was being stopped from the record of the stop.
 */
export class UnitRecords {
  private readonly ids = new Map<Pid, string>();

  constructor(
    private readonly plan: EndPlan,
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

/** Whether somebody is to stop it before it ends: the node that drives it, or its worker outside. */
function hasGrace(row: ProcessRow): boolean {
  return isDriven(row) || row.acknowledgesStop === true;
}
