import type { ApprovalId, CapabilityId, NodeId, ObjectId, Pid, RuleId } from '../base/ids.js';
import type { JsonObject } from '../base/json.js';

/** Declares an event type: its meaning in words, and as a type its data. */
function event<Data>(description: string): EventDeclaration<Data> {
  return { description };
}

interface EventDeclaration<Data> {
  readonly description: string;
  /** Only a type: it has no value. */
  readonly data?: Data;
}

/**
 * Every event type: the one list, from which docs/tables.md is generated. The data are ids, codes and numbers only; text
 * that people wrote stays in the rows.
 */
export const eventTypes = {
  'process.spawned': event<{ parent: Pid | null; image: string; kind: string; goal: ObjectId; deadlineAt?: number }>(
    'A process was created by spawn or spawnChild.',
  ),
  'process.forked': event<{
    parent: Pid;
    image: string;
    kind: string;
    goal: ObjectId;
    mode: string;
    deadlineAt?: number;
  }>('A process was created by fork.'),
  'process.execed': event<{ image: string; generation: number }>('A process got a new image.'),
  'process.started': event<{ kind: string; node?: NodeId; attempt?: number; recorded?: number }>(
    'A node started the body of a process, or a command or external job began.',
  ),
  'process.waiting': event<{ kind: string; what: string; deadline: number | null }>(
    'A process waits for a child, a message, a signal, an approval or a timer.',
  ),
  'process.woken': event<{ status: string; by: string }>('A waiting process became runnable.'),
  'process.released': event<{ reason: string; node: NodeId }>(
    'A process was taken from its node, so that another one can run it.',
  ),
  'process.adopted': event<{ node: NodeId; from: NodeId }>('A running command was taken over by another node.'),
  'process.retrying': event<{ attempt: number; dueAt: number; code: string }>(
    'A body failed and is run again at `dueAt`.',
  ),
  'process.restarted': event<{ supervisor: Pid; child: string; instead: Pid; reason: string }>(
    'A supervisor started a child in place of one that ended.',
  ),
  'step.started': event<{ name: string; attempt: number }>('An attempt of a step began.'),
  'step.completed': event<{ name: string; attempt: number }>('A step ended and its result was journalled.'),
  'step.failed': event<{ name: string; attempt: number; code: string; retryAt: number | null }>(
    'An attempt of a step failed; `retryAt` says when the next one begins.',
  ),
  'tool.called': event<{ tool: string; effect: string }>('A tool is about to run.'),
  'tool.returned': event<{
    tool: string;
    effect: string;
    outcome: string;
    used: JsonObject;
    object?: ObjectId;
    code?: string;
  }>('The outcome of a tool call is known.'),
  'tools.changed': event<{ server: string; added: number; removed: number; changed: number }>(
    'An MCP server added, removed or changed tools.',
  ),
  'message.sent': event<{ from: Pid; message: string; kind: string }>(
    'A message was put into the mailbox of the process.',
  ),
  'message.received': event<{ from: Pid; message: string }>('The process took a message from its mailbox.'),
  'process.paused': event<{ previous: string }>('A process was paused.'),
  'process.resumed': event<{ status: string }>('A process was resumed.'),
  'process.signalled': event<{ signal: string; ordinal: number }>('A user signal was sent to the process.'),
  'process.received': event<{ signal: string; ordinal: number }>('The process received a user signal.'),
  'process.stopping': event<{ outcome: string; alarmAt: number }>(
    'A process is being stopped; at `alarmAt` it is ended.',
  ),
  'process.exited': event<{ status: string; outcome: string; result: ObjectId | null; parent?: Pid }>(
    'A process ended.',
  ),
  'process.reparented': event<{ from: Pid | null; to: Pid | null }>('A process got another parent, or became a root.'),
  'process.moved': event<{ cwd: string }>('A process changed its working directory.'),
  'process.progressed': event<{ done: number; total: number | null }>('A process reported progress.'),
  'process.waited': event<{ by: Pid }>('The result of an ended process was collected.'),
  'budget.charged': event<{ usage: JsonObject }>('Usage was charged to the process and to every budget above it.'),
  'budget.reserved': event<{ reservation: string; usage: JsonObject }>('A ceiling was set aside.'),
  'budget.settled': event<{ reservation: string; usage: JsonObject }>('A reservation was replaced by what was used.'),
  'budget.limited': event<{ limits: JsonObject; deadlineAt?: number }>('The limits of the process were changed.'),
  'budget.exceeded': event<{ dimension: string; process: Pid; limit: number; used: number; asked: number }>(
    'A call was refused because a budget is used up.',
  ),
  'capability.granted': event<{ capability: CapabilityId }>('The process got a root capability.'),
  'capability.delegated': event<{ capability: CapabilityId; parent: CapabilityId; from: Pid }>(
    'The process got a capability from another one.',
  ),
  'capability.derived': event<{ capability: CapabilityId; parent: CapabilityId }>(
    'The process made a narrower copy of a capability for itself.',
  ),
  'capability.transferred': event<{ capability: CapabilityId; from: Pid }>(
    'The process became the holder of a capability.',
  ),
  'capability.revoked': event<{ capability: CapabilityId }>(
    'A capability was revoked with everything that was derived from it.',
  ),
  'capability.used': event<{ capability: CapabilityId; counted: CapabilityId[] }>(
    'A use of a capability with a finite number of uses was taken.',
  ),
  'capabilities.swept': event<{ count: number }>('Rows of capabilities below a revoked one were marked as revoked.'),
  'rule.set': event<{ rule: RuleId; effect: string }>('A rule that denies or asks was set, on the process or on all.'),
  'rule.lifted': event<{ rule: RuleId }>('A rule was removed.'),
  'capability.denied': event<{ right: string; kind: string; code: string }>(
    'A call was refused because authority is missing.',
  ),
  'approval.requested': event<{ approval: ApprovalId; right: string; kind: string }>(
    'A call waits for the answer of a person.',
  ),
  'approval.answered': event<{ approval: ApprovalId; decision: string; scope?: string }>('A person answered.'),
  'approval.used': event<{ approval: ApprovalId }>('An answer for one time was used up.'),
  'object.created': event<{ object: ObjectId; type: string }>('An object was created.'),
  'object.updated': event<{ object: ObjectId; version: number; view?: number }>(
    'A new version of an object was written.',
  ),
  'object.deleted': event<{ object: ObjectId }>('An object was deleted.'),
  'object.linked': event<{ source: ObjectId; relation: string; target: ObjectId }>('Two objects were linked.'),
  'object.shared': event<{ object: ObjectId; capability: CapabilityId; from: Pid }>(
    'The process got rights on an object from another one.',
  ),
  'view.changed': event<{ object: ObjectId; isThere: boolean }>(
    'An object was added to or removed from the view of the process.',
  ),
  'view.merged': event<{ child: Pid; merged: number; adopted: number }>('The changes of an ended child were merged.'),
  'context.materialized': event<{ tokens: number; included: number; omitted: number }>(
    'The view of the process was rendered as text for a model.',
  ),
  'node.lapsed': event<{ node: NodeId; epoch: number; reason: string }>('A node was found to be gone.'),
  'node.recovered': event<JsonObject>('The processes of a node that is gone were taken care of.'),
  'node.stopped': event<{ node: NodeId; released: number; abandoned: number }>('A node stopped.'),
  'node.started': event<{ name: string }>('A node started.'),
  'audit.checkpointed': event<{ size: number; root: string }>('The audit log was signed.'),
  'processes.pruned': event<{ count: number }>('Rows of ended processes were removed.'),
};

export type EventData = {
  [Type in keyof typeof eventTypes]: NonNullable<(typeof eventTypes)[Type]['data']>;
};
export type EventType = keyof EventData;

export type KernelEvent<T extends EventType = EventType> = {
  [Type in T]: { seq: number; type: Type; at: number; pid?: Pid; root?: Pid; node: string; data: EventData[Type] };
}[T];

/** An event before the store has numbered it. */
export type NewEvent<T extends EventType = EventType> = {
  [Type in T]: {
    readonly type: Type;
    readonly at: number;
    readonly pid?: Pid;
    readonly root?: Pid;
    readonly data: EventData[Type];
  };
}[T];

export function isEventType(value: unknown): value is EventType {
  return typeof value === 'string' && Object.hasOwn(eventTypes, value);
}
