import { KernelError, type RetryPolicy, ToolError } from '../../index.js';
import type { ModelUsage } from './model-usage.js';

const messageMax = 1_000;

/**
 * A failure of a model as it may be stored: the error's name, its message and the HTTP status. The request, its URL and its
 * headers are left out, since they may contain keys. `used`: what the turn has used so far. `retryable`: absent where the error
 * says it.
 */
export function modelFailed(model: string, error: unknown, used: ModelUsage, retryable?: boolean): ToolError {
  const { name, message, isRetryable } = error instanceof Error ? (error as Failure) : failureFrom(error);
  const statusCode = statusOf(error);
  const retryAfterMs = retryAfterOf(error);
  const text = redactKeys(String(message)).slice(0, messageMax).toWellFormed();
  return new ToolError('MODEL_FAILED', `Model ${model.slice('model:'.length)} failed: ${text}`, {
    facts: {
      model,
      name: String(name),
      ...(statusCode === undefined ? {} : { statusCode }),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      used,
    },
    hint: 'See what the provider says: the key, the name of the model, its limits, such as that of output tokens.',
    retryable: retryable ?? isRetryable === true,
  });
}

/** The delay that a provider asks for with `retry-after-ms`, or with `retry-after` in seconds or as a date; at most an hour. */
function retryAfterOf(error: unknown): number | undefined {
  const { responseHeaders, headers } = typeof error === 'object' && error !== null ? (error as FailedResponse) : {};
  const read = headerReader(responseHeaders ?? headers);
  const delayMs = numberIn(read('retry-after-ms')) ?? delayIn(read('retry-after'), read('date'));
  return delayMs === undefined ? undefined : Math.min(Math.max(0, Math.round(delayMs)), retryAfterMaxMs);
}
const retryAfterMaxMs = 3_600_000;

/** Where the errors of SDKs have the headers of the response: as an object, or as `Headers`. */
interface FailedResponse {
  readonly responseHeaders?: unknown;
  readonly headers?: unknown;
}

function headerReader(headers: unknown): (name: string) => unknown {
  if (headers instanceof Headers) return (name) => headers.get(name);
  const members = (typeof headers === 'object' && headers !== null ? headers : {}) as Readonly<Record<string, unknown>>;
  return (name) => members[name];
}

function delayIn(value: unknown, date: unknown): number | undefined {
  const seconds = numberIn(value);
  if (seconds !== undefined) return seconds * 1_000;
  // The server's own clock says how far away its date is.
  const delayMs = Date.parse(String(value)) - Date.parse(String(date));
  return Number.isNaN(delayMs) ? undefined : delayMs;
}

function numberIn(value: unknown): number | undefined {
  return typeof value === 'string' && /^\d+(?:\.\d+)?$/.test(value) ? Number(value) : undefined;
}

/** The usage in an error of `modelFailed`; undefined for any other. */
export function usageInFailure(error: unknown): ModelUsage | undefined {
  return error instanceof KernelError && error.code === 'MODEL_FAILED' ? (error.facts.used as ModelUsage) : undefined;
}

/** The policy, with every error permanent that is not marked as retryable. */
export function modelRetry(policy: RetryPolicy): RetryPolicy {
  const isPermanent = (error: unknown) => !(error instanceof KernelError && error.retryable);
  return { ...policy, permanent: (error) => isPermanent(error) || policy.permanent?.(error) === true };
}

/** The HTTP status in an error of a provider: SDKs name it `status` or `statusCode`. */
export function statusOf(error: unknown): number | undefined {
  const { statusCode, status } = typeof error === 'object' && error !== null ? (error as Partial<Failure>) : {};
  return [statusCode, status].find((code) => typeof code === 'number');
}

/** Statuses that ask to come again, besides those of the server's own failures. */
const temporaryStatuses: ReadonlySet<number> = new Set([408, 409, 425, 429]);
const networkFailures: ReadonlySet<unknown> = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'EPIPE',
]);

/** Whether another attempt can help, by what the error of any SDK says. */
export function isTemporary(error: unknown): boolean {
  const { code, isRetryable } = typeof error === 'object' && error !== null ? (error as Partial<Failure>) : {};
  const status = statusOf(error) ?? 0;
  return isRetryable === true || networkFailures.has(code) || status >= 500 || temporaryStatuses.has(status);
}

/** The members that errors of providers have. */
type Failure = Error & { readonly [Member in 'statusCode' | 'status' | 'code' | 'isRetryable']?: unknown };

function failureFrom(error: unknown): Failure {
  return new Error(typeof error === 'string' ? error : 'no reason was given');
}

/** Error messages of servers may repeat the key that they rejected. */
function redactKeys(text: string): string {
  return text
    .replaceAll(/\b(bearer|basic)\s+[^\s"',]+/gi, '$1 ***')
    .replaceAll(/\b(?:(?:sk|pk|rk|gsk|xai|ghp|hf)[-_]|AIza)[-_A-Za-z0-9*]{8,}/g, '***')
    .replaceAll(/\/\/[^\s/@]+@/g, '//***@');
}
