import { inject, injectable } from 'inversify';
import type { ApprovalId, ObjectId, Pid } from '../base/ids.js';
import type { JsonObject } from '../base/json.js';
import type { WriteTx } from '../base/store.js';
import type { Authorization } from '../capability/decision/authorizer.js';
import { factsOfApprovals } from '../capability/rule/rule-gate.js';
import type { EventData, EventType, NewEvent } from '../events/event.js';
import type { Act } from '../unit/act.js';
import type { AuditAction } from '../unit/actions.js';
import { ChangeRecorder } from '../unit/change-recorder.js';
import type { NewObject, NewVersion, Source } from './object/object.js';

/** The capability and approval that something was done under, and the holder's generation. */
type Authority = Pick<Authorization, 'capability' | 'generation'> & { readonly approval?: ApprovalId | undefined };

interface AuditExtras {
  /** Further authority that it was done under. */
  readonly others?: readonly Authority[];
  /** The object whose provenance, or the process whose lineage, is told by the record. */
  readonly subject?: ObjectId | Pid;
}

/** Records events and audit entries of what processes do with memory: ids, hashes and numbers, never a payload. */
@injectable()
export class MemoryRecorder {
  constructor(@inject(ChangeRecorder) private readonly recorder: ChangeRecorder) {}

  /** `sourceReads`: the authority under which the sources were read. */
  recordCreate(
    tx: WriteTx,
    act: Act,
    pid: Pid,
    object: NewObject,
    authority: Authority,
    sourceReads: readonly Authority[],
  ): void {
    const { id, type, version, hash, sources } = object;
    const facts = { object: id, type, version, hash, ...sourcesFact(sources) };
    this.recordEvent(tx, act, pid, 'object.created', { object: id, type });
    this.recordAudit(tx, act, pid, 'memory.create', authority, facts, { others: sourceReads, subject: id });
  }

  /** `view`: the view whose overlay was written; null for the main line. */
  recordUpdate(
    tx: WriteTx,
    act: Act,
    pid: Pid,
    object: ObjectId,
    next: NewVersion,
    view: number | null,
    authority: Authority,
  ): void {
    const { version, hash, sources } = next;
    const viewFact = view === null ? {} : { view };
    this.recordEvent(tx, act, pid, 'object.updated', { object, version, ...viewFact });
    this.recordAudit(
      tx,
      act,
      pid,
      'memory.update',
      authority,
      { object, version, hash, ...viewFact, ...sourcesFact(sources) },
      { subject: object },
    );
  }

  /** `to`: the process that got the capability. */
  recordShare(
    tx: WriteTx,
    act: Act,
    to: Pid,
    data: EventData['object.shared'],
    authority: Authority,
    facts: JsonObject,
  ): void {
    this.recordEvent(tx, act, to, 'object.shared', data);
    this.recordAudit(tx, act, to, 'memory.share', authority, facts, { subject: to });
  }

  /** Any other change; `others`: further authority that it was made under. */
  recordChange<T extends EventType>(
    tx: WriteTx,
    act: Act,
    pid: Pid,
    change: { readonly event: T; readonly data: EventData[T]; readonly action: AuditAction },
    authority: Authority,
    facts: JsonObject,
    others: readonly Authority[] = [],
  ): void {
    this.recordEvent(tx, act, pid, change.event, change.data);
    this.recordAudit(tx, act, pid, change.action, authority, facts, { others });
  }

  /** A read that has used up a counted use or an approval. There is no event, since nothing has changed. */
  recordRead(tx: WriteTx, act: Act, pid: Pid, action: AuditAction, authority: Authority, facts: JsonObject): void {
    this.recordAudit(tx, act, pid, action, authority, facts);
  }

  private recordEvent<T extends EventType>(tx: WriteTx, { at }: Act, pid: Pid, type: T, data: EventData[T]): void {
    this.recorder.recordEvent(tx, { type, at, pid, data } as NewEvent);
  }

  private recordAudit(
    tx: WriteTx,
    act: Act,
    pid: Pid,
    action: AuditAction,
    authority: Authority,
    ownFacts: JsonObject,
    extras: AuditExtras = {},
  ): void {
    const { capability, generation } = authority;
    const { others = [], subject } = extras;
    const approvals = [authority, ...others].flatMap(({ approval }) => approval ?? []);
    const facts = { ...ownFacts, ...otherCapabilities(others), ...factsOfApprovals(approvals) };
    const entry = { action, outcome: 'ok', target: pid, facts } as const;
    this.recorder.recordAudit(tx, { ...act, ...entry, generation, capability, approval: approvals[0], subject });
  }
}

/** An audit record names one capability; its facts name the others. */
function otherCapabilities(others: readonly Authority[]): JsonObject {
  return others.length === 0 ? {} : { alsoBy: [...new Set(others.map(({ capability }) => capability))] };
}

function sourcesFact(sources: readonly Source[] | null): JsonObject {
  return sources === null ? {} : { sources: sources.map((source) => ({ ...source })) };
}
