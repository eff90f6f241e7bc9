import { KernelError, type RetryPolicy, ToolError } from '../../index.js';
import type { ModelUsage } from './model-usage.js';

const messageMax = 1_000;

/**
 * A failure of a model as it may be stored: the error's name, its message and the HTTP status. The request, its URL and its
 * headers are left out, since they may contain keys. `used`: what the turn has used so far.
 */
export function modelFailed(model: string, error: unknown, used: ModelUsage): ToolError {
  const { name, message, statusCode, isRetryable } = error instanceof Error ? (error as Failure) : failureFrom(error);
  const text = redactKeys(String(message)).slice(0, messageMax).toWellFormed();
  return new ToolError('MODEL_FAILED', `Model ${model.slice('model:'.length)} failed: ${text}`, {
    facts: { model, name: String(name), ...(typeof statusCode === 'number' ? { statusCode } : {}), used },
    hint: 'See what the provider says: the key, the name of the model, its limits.',
    retryable: isRetryable === true,
  });
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

/** The members that errors of the AI SDK have. */
type Failure = Error & { readonly statusCode?: unknown; readonly isRetryable?: unknown };

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
