import type { ApprovalId, CapabilityId, NodeId, ObjectId, Pid, QuestionId, RuleId } from '../base/ids.js';
import type { JsonObject } from '../base/json.js';

/** The parts of the kernel that react to events. Each handles every type that names it in the list below. */
export type EventConsumer =
  | 'agents'
  | 'approvals'
  | 'authority'
  | 'commandClaims'
  | 'commandDrivers'
  | 'executor'
  | 'exits'
  | 'inbox'
  | 'liveTurns'
  | 'resumes'
  | 'timers'
  | 'toolCalls';

/** Declares an event type: its meaning in words, the parts of the kernel that must react to it, and its data. */
function event<Data, const Consumers extends readonly EventConsumer[]>(
  description: string,
  consumers: Consumers,
  _data: DataType<Data>,
): EventDeclaration<Data, Consumers> {
  return { description, consumers };
}

interface EventDeclaration<Data, Consumers> extends DataType<Data> {
  readonly description: string;
  readonly consumers: Consumers;
}

/** Carries a type and no value. */
interface DataType<Data> {
  readonly data?: Data;
}

const data = <Data>(): DataType<Data> => ({});

/**
 * Every event type: the one list, from which docs/tables.md is generated. The data are ids, codes and numbers only;
 * text that people wrote stays in the rows.
 */
export const eventTypes = {
  'process.spawned': event(
    'A process was created by spawn or spawnChild.',
    ['authority', 'commandClaims', 'executor', 'timers'],
    data<{ parent: Pid | null; image: string; kind: string; goal: ObjectId; deadlineAt?: number }>(),
  ),
  'process.forked': event(
    'A process was created by fork.',
    ['authority', 'commandClaims', 'executor', 'timers'],
    data<{
      parent: Pid;
      image: string;
      kind: string;
      goal: ObjectId;
      mode: string;
      deadlineAt?: number;
    }>(),
  ),
  'process.execed': event(
    'A process got a new image.',
    ['approvals', 'authority', 'commandClaims', 'executor', 'toolCalls'],
    data<{ image: string; generation: number }>(),
  ),
  'process.renewed': event(
    'The body of a process begins anew with a state and an empty journal.',
    ['executor'],
    data<{ renewals: number; entries: number }>(),
  ),
  'process.started': event(
    'A node started the body of a process, or a command or external job began.',
    ['executor'],
    data<{ kind: string; node?: NodeId; attempt?: number; recorded?: number }>(),
  ),
  'process.waiting': event(
    'A process waits for a child, a message, a signal, an approval, an answer, a timer, or code that can replay its journal.',
    ['executor'],
    data<{ kind: string; what: string; deadline: number | null }>(),
  ),
  'process.woken': event('A waiting process became runnable.', ['executor'], data<{ status: string; by: string }>()),
  'process.released': event(
    'A process was taken from its node, so that another one can run it.',
    ['executor'],
    data<{ reason: string; node: NodeId }>(),
  ),
  'process.adopted': event(
    'A running command was taken over by another node.',
    ['commandDrivers'],
    data<{ node: NodeId; from: NodeId }>(),
  ),
  'process.retrying': event(
    'A body failed and is run again at `dueAt`.',
    ['executor', 'timers'],
    data<{ attempt: number; dueAt: number; code: string }>(),
  ),
  'process.restarted': event(
    'A supervisor started a child in place of one that ended.',
    [],
    data<{ supervisor: Pid; child: string; instead: Pid; reason: string }>(),
  ),
  'step.started': event('An attempt of a step began.', [], data<{ name: string; attempt: number }>()),
  'step.completed': event('A step ended and its result was journalled.', [], data<{ name: string; attempt: number }>()),
  'step.failed': event(
    'An attempt of a step failed; `retryAt` says when the next one begins.',
    [],
    data<{ name: string; attempt: number; code: string; retryAt: number | null }>(),
  ),
  'tool.called': event('A tool is about to run.', [], data<{ tool: string; effect: string }>()),
  'tool.returned': event(
    'The outcome of a tool call is known.',
    [],
    data<{
      tool: string;
      effect: string;
      outcome: string;
      used: JsonObject;
      object?: ObjectId;
      code?: string;
    }>(),
  ),
  'tools.changed': event(
    'An MCP server added, removed or changed tools.',
    [],
    data<{ server: string; added: number; removed: number; changed: number }>(),
  ),
  'message.sent': event(
    'A message was put into the mailbox of the process.',
    ['inbox'],
    data<{ from: Pid; message: string; kind: string }>(),
  ),
  'message.refused': event(
    'A message in the mailbox did not fit the schema of the image, and was not handed over.',
    [],
    data<{ from: Pid; message: string }>(),
  ),
  'message.received': event('The process took a message from its mailbox.', [], data<{ from: Pid; message: string }>()),
  'process.paused': event('A process was paused.', ['commandDrivers', 'executor'], data<{ previous: string }>()),
  'process.resumed': event(
    'A process was resumed.',
    ['commandClaims', 'commandDrivers', 'executor', 'resumes'],
    data<{ status: string }>(),
  ),
  'process.signalled': event(
    'A user signal was sent to the process.',
    ['inbox'],
    data<{ signal: string; ordinal: number }>(),
  ),
  'signal.refused': event(
    'A user signal did not fit the schema of the image, and was not handed over.',
    [],
    data<{ signal: string; ordinal: number }>(),
  ),
  'process.received': event('The process received a user signal.', [], data<{ signal: string; ordinal: number }>()),
  'process.stopping': event(
    'A process is being stopped; at `alarmAt` it is ended.',
    ['approvals', 'commandDrivers', 'executor', 'exits', 'inbox', 'resumes', 'timers', 'toolCalls'],
    data<{ outcome: string; alarmAt: number }>(),
  ),
  'process.exited': event(
    'A process ended.',
    [
      'agents',
      'approvals',
      'authority',
      'commandDrivers',
      'executor',
      'exits',
      'inbox',
      'liveTurns',
      'resumes',
      'toolCalls',
    ],
    data<{ status: string; outcome: string; result: ObjectId | null; parent?: Pid }>(),
  ),
  'process.reparented': event(
    'A process got another parent, or became a root.',
    ['authority'],
    data<{ from: Pid | null; to: Pid | null }>(),
  ),
  'process.owned': event('A process got other owner keys.', [], data<{ keys: string[] }>()),
  'process.checkpointed': event('The host told new facts about an adopted program.', [], data<{ fields: string[] }>()),
  'process.moved': event('A process changed its working directory.', [], data<{ cwd: string }>()),
  'process.progressed': event('A process reported progress.', [], data<{ done: number; total: number | null }>()),
  'process.waited': event('The result of an ended process was collected.', [], data<{ by: Pid }>()),
  'budget.charged': event(
    'Usage was charged to the process and to every budget above it.',
    [],
    data<{ usage: JsonObject }>(),
  ),
  'budget.reserved': event('A ceiling was set aside.', [], data<{ reservation: string; usage: JsonObject }>()),
  'budget.settled': event(
    'A reservation was replaced by what was used.',
    [],
    data<{ reservation: string; usage: JsonObject }>(),
  ),
  'budget.limited': event(
    'The limits of the process were changed.',
    ['commandDrivers', 'timers'],
    data<{ limits: JsonObject; deadlineAt?: number }>(),
  ),
  'budget.exceeded': event(
    'A call was refused because a budget is used up.',
    [],
    data<{ dimension: string; process: Pid; limit: number; used: number; asked: number }>(),
  ),
  'capability.granted': event(
    'The process got a root capability.',
    ['authority'],
    data<{ capability: CapabilityId }>(),
  ),
  'capability.delegated': event(
    'The process got a capability from another one.',
    ['authority'],
    data<{ capability: CapabilityId; parent: CapabilityId; from: Pid }>(),
  ),
  'capability.derived': event(
    'The process made a narrower copy of a capability for itself.',
    ['authority'],
    data<{ capability: CapabilityId; parent: CapabilityId }>(),
  ),
  'capability.transferred': event(
    'The process became the holder of a capability.',
    ['approvals', 'authority'],
    data<{ capability: CapabilityId; from: Pid }>(),
  ),
  'capability.revoked': event(
    'A capability was revoked with everything that was derived from it.',
    ['approvals', 'authority'],
    data<{ capability: CapabilityId }>(),
  ),
  'capability.used': event(
    'A use of a capability with a finite number of uses was taken.',
    ['authority'],
    data<{ capability: CapabilityId; counted: CapabilityId[] }>(),
  ),
  'capabilities.swept': event(
    'Rows of capabilities below a revoked one were marked as revoked.',
    [],
    data<{ count: number }>(),
  ),
  'rule.set': event(
    'A rule that denies or asks was set, on the process or on all.',
    ['approvals', 'authority'],
    data<{ rule: RuleId; effect: string }>(),
  ),
  'rule.lifted': event('A rule was removed.', ['approvals', 'authority'], data<{ rule: RuleId }>()),
  'capability.denied': event(
    'A call was refused because authority is missing.',
    [],
    data<{ right: string; kind: string; code: string }>(),
  ),
  'approval.requested': event(
    'A call waits for the answer of a person.',
    [],
    data<{ approval: ApprovalId; right: string; kind: string }>(),
  ),
  'approval.answered': event(
    'A person answered.',
    ['approvals'],
    data<{ approval: ApprovalId; decision: string; scope?: string }>(),
  ),
  'approval.used': event('An answer for one time was used up.', [], data<{ approval: ApprovalId }>()),
  'turn.committed': event(
    'An agent committed parts of a turn; `seq` counts those commits.',
    ['agents'],
    data<{ seq: number; turn: number; parts: number }>(),
  ),
  'turn.answered': event(
    'A conversation answered; `messages` had waited for the reply.',
    ['agents'],
    data<{ messages: number }>(),
  ),
  'question.asked': event('A process asked a person.', ['agents'], data<{ question: QuestionId }>()),
  'question.answered': event(
    'A person answered the question of a process.',
    ['inbox'],
    data<{ question: QuestionId }>(),
  ),
  'question.closed': event('A question was withdrawn by its process.', [], data<{ question: QuestionId }>()),
  'object.created': event('An object was created.', [], data<{ object: ObjectId; type: string }>()),
  'object.updated': event(
    'A new version of an object was written.',
    [],
    data<{ object: ObjectId; version: number; view?: number }>(),
  ),
  'object.deleted': event('An object was deleted.', [], data<{ object: ObjectId }>()),
  'object.linked': event(
    'Two objects were linked.',
    [],
    data<{ source: ObjectId; relation: string; target: ObjectId }>(),
  ),
  'object.shared': event(
    'The process got rights on an object from another one.',
    ['authority'],
    data<{ object: ObjectId; capability: CapabilityId; from: Pid }>(),
  ),
  'view.changed': event(
    'An object was added to or removed from the view of the process.',
    [],
    data<{ object: ObjectId; isThere: boolean }>(),
  ),
  'view.merged': event(
    'The changes of an ended child were merged.',
    [],
    data<{ child: Pid; merged: number; adopted: number }>(),
  ),
  'context.materialized': event(
    'The view of the process was rendered as text for a model.',
    [],
    data<{ tokens: number; included: number; omitted: number }>(),
  ),
  'node.lapsed': event('A node was found to be gone.', [], data<{ node: NodeId; epoch: number; reason: string }>()),
  'node.recovered': event('The processes of a node that is gone were taken care of.', [], data<JsonObject>()),
  'node.stopped': event('A node stopped.', [], data<{ node: NodeId; released: number; abandoned: number }>()),
  'node.started': event('A node started.', [], data<{ name: string }>()),
  'audit.checkpointed': event('The audit log was signed.', [], data<{ size: number; root: string }>()),
  'capabilities.pruned': event(
    'Capabilities on what pruned processes have left were removed.',
    ['authority'],
    data<{ count: number }>(),
  ),
  'processes.pruned': event('Rows of ended processes were removed.', ['authority'], data<{ count: number }>()),
};

type KernelEventType = keyof typeof eventTypes;

/** The type of an event that an image declares and its bodies emit. */
export type UserEventType = `user.${string}`;

/** The data of each event type. They are listed in docs/tables.md#event-types. */
export type EventData = {
  [Type in KernelEventType]: NonNullable<(typeof eventTypes)[Type]['data']>;
} & { [Type in UserEventType]: JsonObject };
/** The type of an event: one of the kernel's, or `user.NAME`. */
export type EventType = keyof EventData;

/** An event, numbered in the order of the commits of the store. */
export type KernelEvent<T extends EventType = EventType> = {
  [Type in T]: { seq: number; type: Type; at: number; pid?: Pid; root?: Pid; node: string; data: EventData[Type] };
}[T];

/** The types that a part of the kernel must handle. */
type EventTypesOf<Consumer extends EventConsumer> = {
  [Type in KernelEventType]: Consumer extends (typeof eventTypes)[Type]['consumers'][number] ? Type : never;
}[KernelEventType];

/** A handler for every type that a part of the kernel must handle; a missing one is a compile error. */
export type EventHandlers<Consumer extends EventConsumer> = {
  readonly [Type in EventTypesOf<Consumer>]: (event: KernelEvent<Type>) => void;
};

/** Handlers for the same types as `handlers`, all of them `handler`. */
export function sameHandler<Consumer extends EventConsumer>(
  handlers: EventHandlers<Consumer>,
  handler: (event: KernelEvent) => void,
): EventHandlers<Consumer> {
  return Object.fromEntries(Object.keys(handlers).map((type) => [type, handler])) as object as EventHandlers<Consumer>;
}

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

/** The name of an event of an image; its type is `user.NAME`. */
export const userEventName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

export function isEventType(value: unknown): value is EventType {
  if (typeof value !== 'string') return false;
  return Object.hasOwn(eventTypes, value) || (value.startsWith('user.') && userEventName.test(value.slice(5)));
}
