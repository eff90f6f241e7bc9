import { KernelError, type RetryPolicy, ToolError } from '../../index.js';

const messageMax = 1_000;

/**
 * What a model failed with, as it may be kept: its name, its message and the status. What it was asked, the address and the
 * headers stay behind, since keys stand in them.
 */
export function modelFailed(model: string, error: unknown): ToolError {
  const { name, message, statusCode, isRetryable } = error instanceof Error ? (error as Failure) : unreadable(error);
  const text = withoutKeys(String(message)).slice(0, messageMax).toWellFormed();
  return new ToolError('MODEL_FAILED', `Model ${model.slice('model:'.length)} failed: ${text}`, {
    facts: { model, name: String(name), ...(typeof statusCode === 'number' ? { statusCode } : {}) },
    hint: 'See what the provider says: the key, the name of the model, its limits.',
    retryable: isRetryable === true,
  });
}

/** As the policy says; what asking again does not mend is not asked again. */
export function modelRetry(policy: RetryPolicy): RetryPolicy {
  const isFinal = (error: unknown) => !(error instanceof KernelError && error.retryable);
  return { ...policy, permanent: (error) => isFinal(error) || policy.permanent?.(error) === true };
}

/** What errors of the AI SDK have. */
type Failure = Error & { readonly statusCode?: unknown; readonly isRetryable?: unknown };

function unreadable(error: unknown): Failure {
  return new Error(typeof error === 'string' ? error : 'no reason was given');
}

/** Servers repeat what they did not like, and that may be the key. */
function withoutKeys(text: string): string {
  return text
    .replaceAll(/\b(bearer|basic)\s+[^\s"',]+/gi, '$1 ***')
    .replaceAll(/\b(?:(?:sk|pk|rk|gsk|xai|ghp|hf)[-_]|AIza)[-_A-Za-z0-9*]{8,}/g, '***')
    .replaceAll(/\/\/[^\s/@]+@/g, '//***@');
}
