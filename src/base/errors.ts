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

/**
 * Every error the package throws. `code` is stable, `facts` is JSON, `hint` says what to do next.
 *
 * @example
 * try { await kernel.processes.get(pid) } catch (error) {
 *   if (error instanceof KernelError && error.code === 'NO_SUCH_PROCESS') …
 * }
 */
export class KernelError extends Error {
  readonly code: string;
  readonly facts: JsonObject;
  readonly hint: string;
  readonly retryable: boolean;

  constructor(code: string, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.code = code;
    this.facts = details.facts ?? {};
    this.hint = details.hint ?? '';
    this.retryable = details.retryable ?? false;
  }

  toJSON(): JsonObject {
    return { name: this.name, code: this.code, message: this.message, facts: this.facts, hint: this.hint };
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
