import * as errors from '../../base/errors.js';
import { errorText } from '../../base/errors.js';
import type { JsonObject, JsonValue } from '../../base/json.js';

const textMax = 2_000;
const stackMax = 4_000;

const families: Readonly<Record<string, typeof errors.KernelError>> = {
  ProcessError: errors.ProcessError,
  CapabilityError: errors.CapabilityError,
  MemoryError: errors.MemoryError,
  BudgetError: errors.BudgetError,
  ToolError: errors.ToolError,
  StoreError: errors.StoreError,
  InputError: errors.InputError,
  AuditError: errors.AuditError,
};

/** What is kept of something that was thrown. Bodies throw anything, also what cannot be read. */
export function recordedError(error: unknown): JsonObject {
  if (error instanceof errors.KernelError) return { ...error.toJSON(), retryable: error.retryable };
  return { name: nameOf(error), message: messageOf(error), ...codeOf(error) };
}

/** What a body gets when the same call failed before. */
export function revivedError(recorded: JsonValue): Error {
  const { name, code, message, facts, hint, retryable } = recorded as Record<string, JsonValue>;
  const text = String(message);
  if (typeof code === 'string' && typeof facts === 'object') {
    const Family = families[String(name)] ?? errors.KernelError;
    const details = { facts: facts as JsonObject, hint: String(hint), retryable: retryable === true };
    return new Family(code, text, details);
  }
  const error = new Error(text);
  error.name = String(name);
  return typeof code === 'string' ? Object.assign(error, { code }) : error;
}

/** The evidence of a body that threw: code, message and a bounded stack. */
export function evidenceOf(error: unknown): JsonObject {
  const { name, code, message, facts } = recordedError(error) as Record<string, JsonValue>;
  const stack = read(() => (error as Error).stack);
  return {
    name: name ?? 'Error',
    message: message ?? '',
    ...(code === undefined ? {} : { code }),
    ...(facts === undefined ? {} : { facts }),
    ...(typeof stack === 'string' ? { stack: bounded(stack, stackMax) } : {}),
  };
}

/** The code of an error, or its name. */
export function codeOfError(error: unknown): string {
  const { code, name } = recordedError(error);
  return typeof code === 'string' ? code : String(name);
}

function nameOf(error: unknown): string {
  const name = read(() => (error as Error).name);
  return typeof name === 'string' ? bounded(name, textMax) : 'Error';
}

export function messageOf(error: unknown): string {
  const message = read(() => (error as Error).message);
  return bounded(typeof message === 'string' ? message : errorText(error), textMax);
}

function codeOf(error: unknown): { code?: string } {
  const code = read(() => (error as { code?: unknown }).code);
  return typeof code === 'string' ? { code: bounded(code, textMax) } : {};
}

function read(look: () => unknown): unknown {
  try {
    return look();
  } catch {
    // A getter that throws, or no object at all: there is nothing to be read.
    return undefined;
  }
}

function bounded(text: string, max: number): string {
  return text.slice(0, max).toWellFormed();
}
