import { errorText } from '../../base/error-text.js';
import { KernelError, ToolError } from '../../base/errors.js';

/** Something between the request and its answer went wrong. */
export function requestFailed(url: URL, problem: string, cause?: unknown): ToolError {
  const reason = cause instanceof Error ? (cause as NodeJS.ErrnoException).code : undefined;
  const where = `${url.origin}${url.pathname}`.slice(0, 500);
  return new ToolError('TOOL_FAILED', `The request to ${where} failed: ${problem}.`, {
    facts: { url: where, problem, ...(typeof reason === 'string' ? { reason } : {}) },
    hint: 'See the problem; the other side may have got the request all the same.',
    cause,
  });
}

/** What was thrown, in the words of the kernel. */
export function asRequestError(url: URL, error: unknown): KernelError {
  if (error instanceof KernelError) return error;
  return requestFailed(url, errorText(error).slice(0, 300).toWellFormed(), error);
}

export function requestTimeout(url: URL, timeoutMs: number): ToolError {
  const where = `${url.origin}${url.pathname}`.slice(0, 500);
  return new ToolError('TOOL_TIMEOUT', `The request to ${where} took longer than ${timeoutMs} ms.`, {
    facts: { url: where, timeoutMs },
    hint: 'Give it more time with timeoutMs; the other side may have got the request all the same.',
    retryable: true,
  });
}
