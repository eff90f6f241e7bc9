import type { KernelErrorCode } from './error/error-codes.js';
import type { JsonObject } from './json.js';

export interface ErrorDetails {
  /** The values that matter: what was asked for, and why it was refused. */
  readonly facts?: JsonObject;
  /** Advice on what the caller can do next. */
  readonly hint?: string;
  /** Whether the same call may succeed later without anything being changed by the caller. */
  readonly retryable?: boolean;
  readonly cause?: unknown;
}

/** Marks the errors of every copy of the package. */
const brand = Symbol.for('procura.KernelError');

/**
 * Every error the package throws. `code` is stable, `facts` is JSON, `hint` says what to do next.
 *
 * @example
 * try { await kernel.processes.get(pid) } catch (error) {
 *   if (isKernelError(error, 'NO_SUCH_PROCESS')) …
 * }
 */
export class KernelError extends Error {
  /** The kind of error. The codes are explained in docs/errors.md. */
  readonly code: KernelErrorCode;
  /** The values that matter: the request and the reason of the refusal. */
  readonly facts: JsonObject;
  /** Advice for the caller. */
  readonly hint: string;
  /** Whether the same call may succeed later although the caller changes nothing. */
  readonly retryable: boolean;

  static {
    Object.defineProperty(KernelError.prototype, brand, { value: true });
  }

  constructor(code: KernelErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.code = code;
    this.facts = details.facts ?? {};
    this.hint = details.hint ?? '';
    this.retryable = details.retryable ?? false;
  }

  /** Name, code, message, facts and hint. */
  toJSON(): JsonObject {
    return { name: this.name, code: this.code, message: this.message, facts: this.facts, hint: this.hint };
  }
}

/** Makes an error without a stack, for those that are part of the ordinary course: nobody reads it, and it takes time. */
export function withoutStack<E extends Error>(create: () => E): E {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return create();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/**
 * Whether a value is a KernelError, also one of another copy of the package, which is of another class. Never throws, although
 * code of users may throw values whose members cannot be read.
 */
export function isBrandedError(error: unknown): error is KernelError {
  try {
    return typeof error === 'object' && error !== null && brand in error;
  } catch {
    return false;
  }
}

export class ProcessError extends KernelError {}
export class CapabilityError extends KernelError {}
export class MemoryError extends KernelError {}
export class BudgetError extends KernelError {}
export class ToolError extends KernelError {}
export class StoreError extends KernelError {}
export class InputError extends KernelError {}
export class AuditError extends KernelError {}

/** Whether the error leaves open what became of a commit: it may have been carried out. */
export function isOutcomeUnknown(error: unknown): boolean {
  return error instanceof StoreError && error.code === 'STORE_OUTCOME_UNKNOWN';
}

/** The error for input that does not have the form that a call takes. */
export function invalidInput(path: string, problem: string, hint: string, facts: JsonObject = {}): InputError {
  const end = problem.endsWith('?') ? '' : '.';
  return new InputError('INVALID_INPUT', `${path}: ${problem}${end}`, { facts: { path, problem, ...facts }, hint });
}

/** A thrown value as text, for logs. Never throws, although code of users may throw values that have no text. */
export function errorText(error: unknown): string {
  try {
    return String(error);
  } catch {
    return `a thrown ${typeof error}`;
  }
}
