import { inject, injectable } from 'inversify';
import type { NewAuditEntry } from '../audit/audit-entry.js';
import { AuditWriter } from '../audit/writing/audit-writer.js';
import type { ApprovalId, CapabilityId, Pid } from '../base/ids.js';
import type { JsonObject } from '../base/json.js';
import type { WriteTx } from '../base/store.js';
import type { EventData, EventType, NewEvent } from '../events/event.js';
import { EventOutbox } from '../events/event-outbox.js';
import type { Act } from './act.js';
import type { AuditAction } from './actions.js';

/** A change of a process: one event and one audit record. */
export interface Change<T extends EventType> {
  readonly event: T;
  readonly data: EventData[T];
  readonly action: AuditAction;
  readonly before?: string;
  readonly after?: string;
  /** The capability that the actor used. */
  readonly capability?: CapabilityId | 'host' | 'kin' | undefined;
  /** The approval that waived a rule which asks. */
  readonly approval?: ApprovalId | undefined;
  /** Ids, kinds, codes and numbers. */
  readonly facts?: JsonObject;
  /** Free text: stored beside the record, so that it can be erased. */
  readonly payload?: JsonObject;
  /** The id of the record that caused the change, where it is not the one that caused the unit. */
  readonly cause?: string | undefined;
  /** The id of the record, where others of the unit name it. */
  readonly record?: string | undefined;
  /** Whether `audit.lineage` of the process is told by the record. */
  readonly lineage?: boolean;
  /** Another process whose `audit.lineage` is told by the record. */
  readonly lineageOf?: Pid | undefined;
}

/** The process that a change is about. */
export interface ChangedProcess {
  readonly pid: Pid;
  readonly root: Pid;
  readonly generation: number;
}

/** Writes the events and audit records of a unit, in the transaction of the change that they describe. */
@injectable()
export class ChangeRecorder {
  /** The records of the answers that a unit goes by, by approval. */
  private readonly answers = new WeakMap<WriteTx, Map<string, string>>();

  constructor(
    @inject(EventOutbox) private readonly events: EventOutbox,
    @inject(AuditWriter) private readonly auditWriter: AuditWriter,
  ) {}

  recordEvent(tx: WriteTx, event: NewEvent): void {
    this.events.append(tx, event);
  }

  /** Answers with the id of the record. */
  recordAudit(tx: WriteTx, entry: NewAuditEntry & { readonly action: AuditAction }, id?: string): string {
    const answer = entry.approval === undefined ? undefined : this.answers.get(tx)?.get(entry.approval);
    return this.auditWriter.append(tx, answer === undefined ? entry : { ...entry, cause: answer }, id);
  }

  /** An id for a record that others of its unit name before it is recorded. */
  newRecordId(): string {
    return this.auditWriter.newId();
  }

  /** Makes the record of an answer the cause of what is done in the unit under the approval. */
  nameAnswer(tx: WriteTx, approval: ApprovalId, record: string): void {
    const answers = this.answers.get(tx) ?? new Map<string, string>();
    this.answers.set(tx, answers.set(approval, record));
  }

  /** Writes the event and the audit record of a change of a process. Answers with the id of the record. */
  record<T extends EventType>(tx: WriteTx, act: Act, process: ChangedProcess, change: Change<T>): string {
    const { pid, root, generation } = process;
    this.recordEvent(tx, { type: change.event, at: act.at, pid, root, data: change.data } as NewEvent);
    const entry = {
      actor: act.actor,
      via: act.via,
      at: act.at,
      action: change.action,
      outcome: 'ok' as const,
      target: pid,
      generation: act.actor === pid ? generation : undefined,
      capability: change.capability ?? act.capability,
      approval: change.approval ?? act.approval,
      cause: change.cause ?? act.cause,
      before: change.before,
      after: change.after,
      facts: change.facts,
      payload: change.payload,
      subject: change.lineage === true ? pid : change.lineageOf,
    };
    return this.recordAudit(tx, entry, change.record);
  }
}
