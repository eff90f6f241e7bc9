import { inject, injectable } from 'inversify';
import { Ledger } from '../audit/ledger.js';
import type { JsonObject } from '../base/json.js';
import type { WriteTx } from '../base/store.js';
import type { EventData, EventType } from '../events/event.js';
import { EventLog } from '../events/event-log.js';
import type { Act } from './act.js';
import type { ProcessRow } from './process.js';

export interface Change<T extends EventType> {
  readonly event: T;
  readonly data: EventData[T];
  /** Of the audit record; the syscall's name. */
  readonly action: string;
  readonly before?: string;
  readonly after?: string;
  /** Ids, kinds, codes and numbers. */
  readonly facts?: JsonObject;
  /** Text that people wrote: kept beside the record, so that it can be erased. */
  readonly payload?: JsonObject;
  /** Whether the lineage of the process tells it; births and ends are told by the row. */
  readonly lineage?: boolean;
}

/** Events and audit records of a unit: every change of a process is told to both, in the transaction of the change. */
@injectable()
export class Journal {
  constructor(
    @inject(EventLog) private readonly events: EventLog,
    @inject(Ledger) private readonly ledger: Ledger,
  ) {}

  changed<T extends EventType>(tx: WriteTx, act: Act, row: ProcessRow, change: Change<T>): void {
    const { event, data, action, before, after, facts, payload, lineage } = change;
    this.events.append(tx, { type: event, at: act.at, pid: row.pid, root: row.root, data: data as JsonObject });
    this.ledger.append(tx, {
      ...act,
      action,
      outcome: 'ok',
      target: row.pid,
      ...(act.actor === row.pid ? { generation: row.generation } : {}),
      ...(before === undefined ? {} : { before }),
      ...(after === undefined ? {} : { after }),
      ...(facts === undefined ? {} : { facts }),
      ...(payload === undefined ? {} : { payload }),
      ...(lineage === true ? { subject: row.pid } : {}),
    });
  }
}
