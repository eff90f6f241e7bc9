import type { ApprovalId, CapabilityId, NodeId, ObjectId, Pid, RuleId } from '../base/ids.js';
import type { JsonObject } from '../base/json.js';

/** What each event tells. Ids, codes and numbers only: text that people wrote stays in the rows. */
export interface EventData {
  'process.spawned': { parent: Pid | null; image: string; kind: string; goal: ObjectId; deadlineAt?: number };
  'process.forked': { parent: Pid; image: string; kind: string; goal: ObjectId; mode: string; deadlineAt?: number };
  'process.execed': { image: string; generation: number };
  'process.started': { kind: string; node?: NodeId; attempt?: number; recorded?: number };
  'process.waiting': { kind: string; what: string; deadline: number | null };
  'process.woken': { status: string; by: string };
  'process.released': { reason: string; node: NodeId };
  'process.adopted': { node: NodeId; from: NodeId };
  'process.retrying': { attempt: number; dueAt: number; code: string };
  'process.restarted': { supervisor: Pid; child: string; instead: Pid; reason: string };
  'step.started': { name: string; attempt: number };
  'step.completed': { name: string; attempt: number };
  'step.failed': { name: string; attempt: number; code: string; retryAt: number | null };
  'tool.called': { tool: string; effect: string };
  'tool.returned': {
    tool: string;
    effect: string;
    outcome: string;
    used: JsonObject;
    object?: ObjectId;
    code?: string;
  };
  'tools.changed': { server: string; added: number; removed: number; changed: number };
  'message.sent': { from: Pid; message: string; kind: string };
  'message.received': { from: Pid; message: string };
  'process.paused': { previous: string };
  'process.resumed': { status: string };
  'process.signalled': { signal: string; ordinal: number };
  'process.received': { signal: string; ordinal: number };
  'process.stopping': { outcome: string; alarmAt: number };
  'process.exited': { status: string; outcome: string; result: ObjectId | null; parent?: Pid };
  'process.reparented': { from: Pid | null; to: Pid | null };
  'process.moved': { cwd: string };
  'process.progressed': { done: number; total: number | null };
  'process.waited': { by: Pid };
  'budget.charged': { usage: JsonObject };
  'budget.reserved': { reservation: string; usage: JsonObject };
  'budget.settled': { reservation: string; usage: JsonObject };
  'budget.limited': { limits: JsonObject; deadlineAt?: number };
  'budget.exceeded': { dimension: string; process: Pid; limit: number; used: number; asked: number };
  'capability.granted': { capability: CapabilityId };
  'capability.delegated': { capability: CapabilityId; parent: CapabilityId; from: Pid };
  'capability.derived': { capability: CapabilityId; parent: CapabilityId };
  'capability.transferred': { capability: CapabilityId; from: Pid };
  'capability.revoked': { capability: CapabilityId };
  'capability.used': { capability: CapabilityId; counted: CapabilityId[] };
  'capabilities.swept': { count: number };
  'rule.set': { rule: RuleId; effect: string };
  'rule.lifted': { rule: RuleId };
  'capability.denied': { right: string; kind: string; code: string };
  'approval.requested': { approval: ApprovalId; right: string; kind: string };
  'approval.answered': { approval: ApprovalId; decision: string; scope?: string };
  'approval.used': { approval: ApprovalId };
  'object.created': { object: ObjectId; type: string };
  'object.updated': { object: ObjectId; version: number; view?: number };
  'object.deleted': { object: ObjectId };
  'object.linked': { source: ObjectId; relation: string; target: ObjectId };
  'object.shared': { object: ObjectId; capability: CapabilityId; from: Pid };
  'view.changed': { object: ObjectId; isThere: boolean };
  'view.merged': { child: Pid; merged: number; adopted: number };
  'context.materialized': { tokens: number; included: number; omitted: number };
  'node.lapsed': { node: NodeId; epoch: number; reason: string };
  'node.recovered': JsonObject;
  'node.stopped': { node: NodeId; released: number; abandoned: number };
  'node.started': { name: string };
  'audit.checkpointed': { size: number; root: string };
  'processes.pruned': { count: number };
}
export type EventType = keyof EventData;

export type KernelEvent<T extends EventType = EventType> = {
  [Type in T]: { seq: number; type: Type; at: number; pid?: Pid; root?: Pid; node: string; data: EventData[Type] };
}[T];

/** An event before the store has numbered it. */
export interface NewEvent {
  readonly type: EventType;
  readonly at: number;
  readonly pid?: Pid;
  readonly root?: Pid;
  readonly data: JsonObject;
}

const known: Record<EventType, true> = {
  'process.spawned': true,
  'process.forked': true,
  'process.execed': true,
  'process.started': true,
  'process.waiting': true,
  'process.woken': true,
  'process.released': true,
  'process.adopted': true,
  'process.retrying': true,
  'process.restarted': true,
  'step.started': true,
  'step.completed': true,
  'step.failed': true,
  'tool.called': true,
  'tool.returned': true,
  'tools.changed': true,
  'message.sent': true,
  'message.received': true,
  'node.lapsed': true,
  'node.recovered': true,
  'node.stopped': true,
  'process.paused': true,
  'process.resumed': true,
  'process.signalled': true,
  'process.received': true,
  'process.stopping': true,
  'process.exited': true,
  'process.reparented': true,
  'process.moved': true,
  'process.progressed': true,
  'process.waited': true,
  'budget.charged': true,
  'budget.reserved': true,
  'budget.settled': true,
  'budget.limited': true,
  'budget.exceeded': true,
  'capability.granted': true,
  'capability.delegated': true,
  'capability.derived': true,
  'capability.transferred': true,
  'capability.revoked': true,
  'capability.used': true,
  'capabilities.swept': true,
  'rule.set': true,
  'rule.lifted': true,
  'capability.denied': true,
  'approval.requested': true,
  'approval.answered': true,
  'approval.used': true,
  'object.created': true,
  'object.updated': true,
  'object.deleted': true,
  'object.linked': true,
  'object.shared': true,
  'view.changed': true,
  'view.merged': true,
  'context.materialized': true,
  'node.started': true,
  'audit.checkpointed': true,
  'processes.pruned': true,
};

export function isEventType(value: unknown): value is EventType {
  return typeof value === 'string' && Object.hasOwn(known, value);
}
