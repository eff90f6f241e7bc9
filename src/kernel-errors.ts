import type { KernelErrorCode } from './base/error/error-codes.js';
import { isBrandedError, type KernelError } from './base/errors.js';
import type { ApprovalId, CapabilityId, NodeId, ObjectId, Pid, ReservationId, RuleId } from './base/ids.js';
import type { JsonObject, JsonValue } from './base/json.js';
import type { DecisionCode, NearMiss } from './capability/decision/decision.js';
import type { CapabilityStatus } from './capability/holding/capability.js';
import type { Dimension } from './kernel/budget/budget.js';
import type {
  Outcome,
  OutcomeKind,
  ProcessKind,
  ProcessStatus,
  StopOrder,
  TerminalStatus,
} from './kernel/process/process.js';

/**
 * The facts of the errors whose facts are stable, by code. An optional fact is told by some of the calls that throw the error.
 * The facts of the other codes are a `JsonObject`.
 */
export interface KernelErrorFacts {
  NO_SUCH_PROCESS: { readonly pid: Pid };
  PROCESS_TERMINATED: {
    readonly pid: Pid;
    readonly status?: ProcessStatus;
    readonly outcome?: OutcomeKind | null;
  };
  /** `outcome` is that of the process, with its reason and evidence. */
  PROCESS_FAILED: {
    readonly pid: Pid;
    readonly status: TerminalStatus;
    readonly outcome: Members<Omit<Outcome, 'stop'>> & { readonly stop?: Members<StopOrder> };
    readonly message?: string;
  };
  INVALID_TRANSITION: {
    readonly pid: Pid;
    readonly kind?: ProcessKind;
    readonly status?: ProcessStatus;
    /** The change that the process does not take. */
    readonly event?: string;
    readonly child?: Pid;
  };
  /** `reason` is why the process is being stopped. */
  TREE_STOPPING: { readonly pid: Pid; readonly status?: ProcessStatus; readonly reason?: OutcomeKind | null };
  NOT_A_CHILD: { readonly pid: Pid; readonly child: Pid };
  NO_CHILDREN: { readonly pid: Pid };
  WAIT_TIMEOUT: {
    readonly timeoutMs: number;
    /** The process that waited, or that is paused. */
    readonly pid?: Pid;
    /** The first processes whose end was waited for. */
    readonly children?: readonly Pid[];
    /** `message` or `signal`, for a wait for a mailbox. */
    readonly kind?: string;
    readonly what?: string;
    readonly paused?: boolean;
    readonly pausedBy?: string | null;
  };
  /** `cycle` has pids, or `tool:NAME`. */
  WAIT_CYCLE: {
    readonly pid: Pid;
    readonly cycle: readonly string[];
    readonly child?: Pid;
    readonly tool?: string;
    readonly concurrency?: number;
  };
  CANCELLED: {
    readonly pid?: Pid;
    /** Why the process is being stopped, if that is why the call was given up. */
    readonly reason?: string | null;
    readonly children?: readonly Pid[];
    readonly kind?: string;
    readonly what?: string;
    readonly right?: string;
    readonly resource?: string;
    readonly approval?: ApprovalId;
    readonly tool?: string;
    readonly paused?: boolean;
    readonly pausedBy?: string | null;
  };
  MAILBOX_FULL: { readonly to: Pid; readonly limit: number; readonly bound: 'mailbox' | 'sender' };
  /** Each call tells what it conflicts with. */
  CONFLICT: {
    readonly pid?: Pid;
    readonly child?: Pid;
    /** The version of the row of the process that was changed meanwhile. */
    readonly version?: number;
    /** The id that was used before. */
    readonly id?: string;
    /** The members in which the spec of a spawn differs. */
    readonly members?: readonly string[];
    readonly rules?: readonly RuleId[];
    readonly nodes?: readonly NodeId[];
    readonly image?: string;
    readonly tool?: string;
    readonly server?: string;
    readonly approval?: ApprovalId;
    readonly status?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly object?: ObjectId;
    readonly path?: string;
    readonly problem?: string;
  };
  SPAWN_REFUSED: { readonly reason: string; readonly image: string; readonly parent: Pid | null };
  /** `known` are the first of those that are registered. */
  NO_SUCH_IMAGE: { readonly image: string; readonly known: readonly string[] };
  /** `process` is the one whose limit binds: the process that was charged, or one above it. */
  BUDGET_EXCEEDED: {
    readonly dimension: Dimension;
    readonly process: Pid;
    readonly limit: number | null;
    readonly used: number;
    readonly reserved: number;
    readonly asked: number;
  };
  NO_SUCH_RESERVATION: { readonly reservation: ReservationId };
  STEP_TIMEOUT: { readonly step: string; readonly timeoutMs: number };
  STEP_OVER: { readonly step: string };
  OUTCOME_UNKNOWN: {
    readonly step?: string;
    readonly tool?: string;
    readonly pid?: Pid;
    readonly reason?: string | null;
  };
  /** `path` begins with `result`. */
  INVALID_OUTPUT: { readonly image: string; readonly path: string; readonly problem: string };
  /** The call in the journal, and the call that the body made in its place. */
  NON_DETERMINISTIC: {
    readonly recorded: string;
    readonly asked: string;
    /** Of a replay in a test: the same two calls, and the number of recorded calls before them. */
    readonly expected?: string;
    readonly found?: string;
    readonly position?: number;
  };
  NO_SUCH_TOOL: { readonly tool: string; readonly known: readonly string[]; readonly pid?: Pid };
  TOOL_FAILED: {
    readonly tool?: string;
    /** The text of what the tool threw. */
    readonly error?: string;
    /** The member of the result that does not fit, or the file that the tool could not use. */
    readonly path?: JsonValue;
    readonly problem?: JsonValue;
    readonly reason?: string;
    readonly url?: string;
    readonly server?: string;
    readonly connectTimeoutMs?: number;
    readonly package?: string;
    readonly text?: string;
    readonly pid?: Pid;
    readonly errno?: JsonValue;
  };
  TOOL_TIMEOUT: { readonly timeoutMs: number; readonly tool?: string; readonly url?: string };
  AMPLIFICATION: {
    /** The part in which it is wider. */
    readonly field: string;
    readonly from: Pid;
    readonly capability?: CapabilityId;
    readonly resource?: string;
    readonly rights?: readonly string[];
    readonly right?: string;
    readonly object?: ObjectId;
    readonly maxDepth?: number;
    /** The capabilities that came near, and where each of them is narrower. */
    readonly nearest?: readonly {
      readonly capability: CapabilityId;
      readonly field: string;
      readonly detail: string;
    }[];
  };
  CAPABILITY_DENIED: DenialFacts;
  CAPABILITY_REVOKED: DenialFacts;
  CAPABILITY_EXPIRED: DenialFacts;
  NO_SUCH_CAPABILITY: { readonly capability: CapabilityId };
  NO_SUCH_RULE: { readonly rule: RuleId };
  APPROVAL_PENDING: ApprovalFacts & { readonly code: 'ASK' };
  APPROVAL_DENIED: ApprovalFacts;
  NO_SUCH_APPROVAL: { readonly approval: ApprovalId };
  NO_SUCH_OBJECT: {
    readonly object: ObjectId;
    readonly pid?: Pid;
    readonly version?: number;
    readonly newest?: number;
  };
  IMMUTABLE: { readonly object: ObjectId };
  VERSION_CONFLICT: { readonly object: ObjectId; readonly expected: number; readonly actual: number };
  NOT_FORKED: { readonly pid: Pid; readonly child: Pid };
  INVALID_INPUT: InputFacts;
  INVALID_PATH: { readonly path: string; readonly problem: string };
  STORE_UNSUPPORTED: {
    /** The version of SQLite, and the least one that can be used. */
    readonly found?: string;
    readonly least?: string;
    /** The package that is missing or has no binary, and the command that installs it. */
    readonly package?: string;
    readonly problem?: string;
    readonly command?: string;
    /** The version of Node, and of its interface for native parts. */
    readonly node?: string;
    readonly abi?: string;
  };
  STORE_FOREIGN: { readonly path: string; readonly problem: string };
  SCHEMA_NEWER: { readonly found: number; readonly known: number };
  MISSING_PACKAGE: { readonly package: string; readonly command: string };
  NO_SUCH_RECORD: { readonly seq: number };
  NO_PAYLOAD: { readonly seq: number };
  ALREADY_ERASED: { readonly seq: number };
  KEY_UNREADABLE: { readonly path: string };
}

/** The members of an interface as a type that JSON objects are assignable from and to. */
type Members<T> = { readonly [Name in keyof T]: T[Name] };

type DenialFacts = {
  readonly pid?: Pid;
  readonly right?: string;
  readonly resource?: string;
  /** The decision; or the code of a refusal that would have named a place that the process may not know. */
  readonly code?: DecisionCode | KernelErrorCode;
  /** The capabilities that came near, the nearest first. */
  readonly nearest?: readonly Members<NearMiss>[];
  /** The rules that forbid it; told to the host only. */
  readonly denies?: readonly RuleId[];
  /** The rights that an image requires. */
  readonly rights?: readonly string[];
  readonly image?: string;
  /** The process that something was to be given to. */
  readonly to?: Pid;
  readonly path?: string;
  readonly pausedBy?: string;
  /** The capability that something was to be derived from, and what has become of it. */
  readonly capability?: CapabilityId;
  readonly status?: CapabilityStatus;
};

type ApprovalFacts = {
  readonly pid: Pid;
  readonly right: string;
  readonly resource: string;
  readonly approval: ApprovalId;
};

/** `path` says where the value does not have the form that the call takes; calls tell more facts of their own. */
type InputFacts = { readonly path: string; readonly problem: string; readonly [name: string]: JsonValue };

type FactsOf<Code extends KernelErrorCode> = Code extends keyof KernelErrorFacts ? KernelErrorFacts[Code] : JsonObject;

/** A KernelError with one of these codes: a union of which `code` tells the members apart. */
export type KernelErrorOf<Code extends KernelErrorCode> = {
  [Each in Code]: Omit<KernelError, 'code' | 'facts'> & { readonly code: Each; readonly facts: FactsOf<Each> };
}[Code];

/** Any KernelError. Once `code` is compared, `facts` has the type of that code. */
type AnyKernelError = {
  [Each in KernelErrorCode]: KernelError & { readonly code: Each; readonly facts: FactsOf<Each> };
}[KernelErrorCode];

/**
 * Whether a thrown value is a KernelError, and has one of the codes if any are named. It also recognizes errors of another copy
 * of the package, which are of another class.
 *
 * @example
 * try { await kernel.processes.charge(pid, { tokens: 500 }) } catch (error) {
 *   if (!isKernelError(error, 'BUDGET_EXCEEDED')) throw error;
 *   console.log(error.facts.dimension, error.facts.process);
 * }
 */
export function isKernelError(error: unknown): error is AnyKernelError;
export function isKernelError<Code extends KernelErrorCode>(
  error: unknown,
  ...codes: [Code, ...Code[]]
): error is KernelErrorOf<Code>;
export function isKernelError(error: unknown, ...codes: KernelErrorCode[]): boolean {
  return isBrandedError(error) && (codes.length === 0 || codes.includes(error.code));
}
