import { toStorableText } from '../../base/characters.js';
import type { KernelErrorCode } from '../../base/error/error-codes.js';
import * as errors from '../../base/errors.js';
import { errorText } from '../../base/errors.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import { copyPlain } from '../../base/spec.js';

const textMax = 2_000;
const stackMax = 4_000;

const errorClasses: Readonly<Record<string, typeof errors.KernelError>> = {
  ProcessError: errors.ProcessError,
  CapabilityError: errors.CapabilityError,
  MemoryError: errors.MemoryError,
  BudgetError: errors.BudgetError,
  ToolError: errors.ToolError,
  StoreError: errors.StoreError,
  InputError: errors.InputError,
  AuditError: errors.AuditError,
};

/** A thrown value as it is journalled. Bodies throw anything, even objects whose members cannot be read. */
export function toErrorRecord(error: unknown): JsonObject {
  if (errors.isBrandedError(error)) return { ...error.toJSON(), retryable: error.retryable };
  return { name: nameOf(error), message: messageOf(error), ...codeFieldOf(error) };
}

/** The error that a rerun gets: of the same class, with the same code, facts and hint. */
export function errorFromRecord(recorded: JsonValue): Error {
  const { name, code, message, facts, hint, retryable } = recorded as Record<string, JsonValue>;
  const text = String(message);
  if (typeof code === 'string' && typeof facts === 'object') {
    const Family = errorClasses[String(name)] ?? errors.KernelError;
    const details = { facts: facts as JsonObject, hint: String(hint), retryable: retryable === true };
    // A journal may be older or newer than this release, and have codes that this one does not list.
    return new Family(code as KernelErrorCode, text, details);
  }
  const error = new Error(text);
  error.name = String(name);
  return typeof code === 'string' ? Object.assign(error, { code }) : error;
}

/** The evidence of an outcome: code, message, facts and a bounded stack, beside what the body has given as `error.evidence`. */
export function evidenceOf(error: unknown): JsonObject {
  const { name, code, message, facts } = toErrorRecord(error) as Record<string, JsonValue>;
  const stack = readSafely(() => (error as Error).stack);
  return {
    ...givenEvidenceOf(error),
    name: name ?? 'Error',
    message: message ?? '',
    ...(code === undefined ? {} : { code }),
    ...(facts === undefined ? {} : { facts }),
    ...(typeof stack === 'string' ? { stack: truncate(stack, stackMax) } : {}),
  };
}

/** JSON that the body has added to the error as `evidence`, such as how far it got; undefined where there is none that can be stored. */
export function givenEvidenceOf(error: unknown): JsonObject | undefined {
  const evidence = readSafely(() => copyPlain((error as { evidence?: unknown }).evidence, 'evidence', evidenceLimits));
  const isObject = typeof evidence === 'object' && evidence !== null && !Array.isArray(evidence);
  return isObject ? (evidence as JsonObject) : undefined;
}
const evidenceLimits = { bytesMax: 65_536, depthMax: 16 };

/** The code of an error, or its name. */
export function codeOfError(error: unknown): string {
  const { code, name } = toErrorRecord(error);
  return typeof code === 'string' ? code : String(name);
}

function nameOf(error: unknown): string {
  const name = readSafely(() => (error as Error).name);
  return typeof name === 'string' ? truncate(name, textMax) : 'Error';
}

export function messageOf(error: unknown): string {
  const message = readSafely(() => (error as Error).message);
  return truncate(typeof message === 'string' ? message : errorText(error), textMax);
}

function codeFieldOf(error: unknown): { code?: string } {
  const code = readSafely(() => (error as { code?: unknown }).code);
  return typeof code === 'string' ? { code: truncate(code, textMax) } : {};
}

function readSafely(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    // A getter threw, or the value is not an object.
    return undefined;
  }
}

/** Bodies throw any text; of this, everything can be stored. */
function truncate(text: string, max: number): string {
  return toStorableText(text.slice(0, max));
}
