import { inject, injectable } from 'inversify';
import type { ApprovalId, ObjectId, Pid } from '../base/ids.js';
import type { JsonObject } from '../base/json.js';
import type { WriteTx } from '../base/store.js';
import type { Authorization } from '../capability/decision/authorizer.js';
import { severalOf } from '../capability/rule/rule-gate.js';
import type { EventData, EventType, NewEvent } from '../events/event.js';
import type { Act } from '../unit/act.js';
import type { AuditAction } from '../unit/actions.js';
import { ChangeRecorder } from '../unit/change-recorder.js';
import type { NewObject, NewVersion, Source } from './object/object.js';

type By = Pick<Authorization, 'capability' | 'generation'> & { readonly approval?: ApprovalId | undefined };

interface Also {
  /** What else it was done by. */
  readonly others?: readonly By[];
  /** The object whose provenance tells it. */
  readonly subject?: ObjectId;
}

/** Events and audit records of what processes do with memory. Ids, hashes and numbers; never a payload. */
@injectable()
export class MemoryRecorder {
  constructor(@inject(ChangeRecorder) private readonly recorder: ChangeRecorder) {}

  /** `readings`: by what its sources were read. */
  created(tx: WriteTx, act: Act, pid: Pid, object: NewObject, by: By, readings: readonly By[]): void {
    const { id, type, version, hash, sources } = object;
    const facts = { object: id, type, version, hash, ...madeFrom(sources) };
    this.tell(tx, act, pid, 'object.created', { object: id, type });
    this.record(tx, act, pid, 'memory.create', by, facts, { others: readings, subject: id });
  }

  /** `view`: it was written through a view, and the main line is as it was. */
  updated(tx: WriteTx, act: Act, pid: Pid, object: ObjectId, next: NewVersion, view: number | null, by: By): void {
    const { version, hash, sources } = next;
    const where = view === null ? {} : { view };
    this.tell(tx, act, pid, 'object.updated', { object, version, ...where });
    this.record(
      tx,
      act,
      pid,
      'memory.update',
      by,
      { object, version, hash, ...where, ...madeFrom(sources) },
      { subject: object },
    );
  }

  /** Anything else that a process does with memory; `others`: what else it was done by. */
  did<T extends EventType>(
    tx: WriteTx,
    act: Act,
    pid: Pid,
    told: { readonly event: T; readonly data: EventData[T]; readonly action: AuditAction },
    by: By,
    facts: JsonObject,
    others: readonly By[] = [],
  ): void {
    this.tell(tx, act, pid, told.event, told.data);
    this.record(tx, act, pid, told.action, by, facts, { others });
  }

  /** What leaves everything as it was and uses something up. */
  looked(tx: WriteTx, act: Act, pid: Pid, action: AuditAction, by: By, facts: JsonObject): void {
    this.record(tx, act, pid, action, by, facts);
  }

  private tell<T extends EventType>(tx: WriteTx, { at }: Act, pid: Pid, type: T, data: EventData[T]): void {
    this.recorder.event(tx, { type, at, pid, data } as NewEvent);
  }

  private record(
    tx: WriteTx,
    act: Act,
    pid: Pid,
    action: AuditAction,
    by: By,
    given: JsonObject,
    also: Also = {},
  ): void {
    const { capability, generation } = by;
    const { others = [], subject } = also;
    const approvals = [by, ...others].flatMap((one) => one.approval ?? []);
    const facts = { ...given, ...alsoBy(others), ...severalOf(approvals) };
    const what = { action, outcome: 'ok', target: pid, facts } as const;
    this.recorder.audit(tx, { ...act, ...what, generation, capability, approval: approvals[0], subject });
  }
}

/** A record names one capability; where something was done by several, its facts name the others. */
function alsoBy(others: readonly By[]): JsonObject {
  return others.length === 0 ? {} : { alsoBy: [...new Set(others.map(({ capability }) => capability))] };
}

function madeFrom(sources: readonly Source[] | null): JsonObject {
  return sources === null ? {} : { sources: sources.map((source) => ({ ...source })) };
}
