import { inject, injectable } from 'inversify';
import { Ledger } from '../audit/ledger.js';
import type { ApprovalId, ObjectId, Pid } from '../base/ids.js';
import type { JsonObject } from '../base/json.js';
import type { WriteTx } from '../base/store.js';
import type { Act } from '../capability/act.js';
import type { Warrant } from '../capability/warrants.js';
import type { EventData, EventType } from '../events/event.js';
import { EventLog } from '../events/event-log.js';
import type { NewObject, NewVersion, Source } from './object.js';

type By = Pick<Warrant, 'capability' | 'generation'> & { readonly approval?: ApprovalId | undefined };

/** Events and audit records of what processes do with memory. Ids, hashes and numbers; never a payload. */
@injectable()
export class MemoryJournal {
  constructor(
    @inject(EventLog) private readonly events: EventLog,
    @inject(Ledger) private readonly ledger: Ledger,
  ) {}

  created(tx: WriteTx, act: Act, pid: Pid, object: NewObject, by: By): void {
    const { id, type, version, hash, sources } = object;
    this.tell(tx, act, pid, 'object.created', { object: id, type });
    this.record(tx, act, pid, 'memory.create', by, { object: id, type, version, hash, ...madeFrom(sources) }, id);
  }

  /** `view`: it was written through a view, and the main line is as it was. */
  updated(tx: WriteTx, act: Act, pid: Pid, object: ObjectId, next: NewVersion, view: number | null, by: By): void {
    const { version, hash, sources } = next;
    const where = view === null ? {} : { view };
    this.tell(tx, act, pid, 'object.updated', { object, version, ...where });
    this.record(tx, act, pid, 'memory.update', by, { object, version, hash, ...where, ...madeFrom(sources) }, object);
  }

  /** Anything else that a process does with memory. */
  did<T extends EventType>(
    tx: WriteTx,
    act: Act,
    pid: Pid,
    told: { readonly event: T; readonly data: EventData[T]; readonly action: string },
    by: By,
    facts: JsonObject,
  ): void {
    this.tell(tx, act, pid, told.event, told.data);
    this.record(tx, act, pid, told.action, by, facts);
  }

  /** What leaves everything as it was and uses something up. */
  looked(tx: WriteTx, act: Act, pid: Pid, action: string, by: By, facts: JsonObject): void {
    this.record(tx, act, pid, action, by, facts);
  }

  private tell<T extends EventType>(tx: WriteTx, { at }: Act, pid: Pid, type: T, data: EventData[T]): void {
    this.events.append(tx, { type, at, pid, data: data as JsonObject });
  }

  /** `subject`: the object whose provenance tells it. */
  private record(tx: WriteTx, act: Act, pid: Pid, action: string, by: By, facts: JsonObject, subject?: ObjectId): void {
    const { capability, approval, generation } = by;
    const what = { action, outcome: 'ok', target: pid, facts } as const;
    this.ledger.append(tx, { ...act, ...what, generation, capability, approval, subject });
  }
}

function madeFrom(sources: readonly Source[] | null): JsonObject {
  return sources === null ? {} : { sources: sources.map((source) => ({ ...source })) };
}
