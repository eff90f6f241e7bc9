import { inject, injectable } from 'inversify';
import { Ledger } from '../audit/writing/ledger.js';
import type { ApprovalId, CapabilityId } from '../base/ids.js';
import type { JsonObject } from '../base/json.js';
import type { WriteTx } from '../base/store.js';
import type { EventData, EventType } from '../events/event.js';
import { EventLog } from '../events/event-outbox.js';
import type { Act } from './act.js';
import type { ProcessRow } from './process/process.js';

export interface Change<T extends EventType> {
  readonly event: T;
  readonly data: EventData[T];
  /** Of the audit record; the syscall's name. */
  readonly action: string;
  readonly before?: string;
  readonly after?: string;
  /** By which the actor did it. */
  readonly capability?: CapabilityId | 'host' | 'kin' | undefined;
  /** By which a rule that asks was waived. */
  readonly approval?: ApprovalId | undefined;
  /** Ids, kinds, codes and numbers. */
  readonly facts?: JsonObject;
  /** Text that people wrote: kept beside the record, so that it can be erased. */
  readonly payload?: JsonObject;
  /** Whether the lineage of the process tells it; births and ends are told by the row. */
  readonly lineage?: boolean;
}

/** What the logs need to know of the process. */
export type Subject = Pick<ProcessRow, 'pid' | 'root' | 'generation'>;

/** Events and audit records of a unit: every change of a process is told to both, in the transaction of the change. */
@injectable()
export class Journal {
  constructor(
    @inject(EventLog) private readonly events: EventLog,
    @inject(Ledger) private readonly ledger: Ledger,
  ) {}

  changed<T extends EventType>(tx: WriteTx, act: Act, row: Subject, change: Change<T>): void {
    const { pid, root } = row;
    this.events.append(tx, { type: change.event, at: act.at, pid, root, data: change.data as JsonObject });
    this.ledger.append(tx, {
      actor: act.actor,
      via: act.via,
      at: act.at,
      action: change.action,
      outcome: 'ok',
      target: pid,
      generation: act.actor === pid ? row.generation : undefined,
      capability: change.capability ?? act.capability,
      approval: change.approval ?? act.approval,
      before: change.before,
      after: change.after,
      facts: change.facts,
      payload: change.payload,
      subject: change.lineage === true ? pid : undefined,
    });
  }
}
