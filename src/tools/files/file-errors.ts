import { errorText, KernelError, ToolError } from '../../base/errors.js';
import { invalidPath } from '../../kernel/workspace/working-directory.js';

/** Does something with a file, and says what went wrong in the words of the kernel. `shown` is the path that was asked for. */
export async function withFile<T>(shown: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    throw toKernelError(shown, error);
  }
}

/** Something else has taken the place of what was looked for; the system itself says ELOOP. */
export class UnexpectedLink extends Error {
  readonly code = 'ELOOP';
}

/** What was there, or was not, when it was decided on is not so any more. */
export function changedMeanwhile(shown: string, problem: string): ToolError {
  return new ToolError('CONFLICT', `The file ${JSON.stringify(shown)} has changed meanwhile: ${problem}.`, {
    facts: { path: shown, problem },
    hint: 'Look at it again, and repeat the call if it is still wanted.',
    retryable: true,
  });
}

/** The code that the operating system refused with; undefined for every other error. */
export function systemCode(error: unknown): string | undefined {
  if (error instanceof UnexpectedLink) return error.code;
  return error instanceof Error && 'syscall' in error ? (error as NodeJS.ErrnoException).code : undefined;
}

const problems: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  ELOOP: 'a link stands in the way',
  EMLINK: 'a link stands in the way',
  ENOTDIR: 'a link or a file stands where a folder should be',
  EISDIR: 'it is a folder',
  ENXIO: 'it is not a regular file',
  ENAMETOOLONG: 'a name is too long for the disk',
};

function toKernelError(shown: string, error: unknown): KernelError {
  if (error instanceof KernelError) return error;
  const code = systemCode(error);
  const problem = problems[code ?? ''];
  if (problem !== undefined) return invalidPath(shown, problem);
  // The system names the path by which the file was reached, which says nothing to the caller.
  const [reason = ''] = code === undefined ? [errorText(error)] : errorText(error).split(',');
  return new ToolError('TOOL_FAILED', `The file ${JSON.stringify(shown)} could not be used: ${reason}.`, {
    facts: { path: shown, ...(code === undefined ? {} : { reason: code }) },
    hint: code === 'ENOTEMPTY' || code === 'EEXIST' ? 'Delete what is in the folder first.' : 'See the reason.',
    cause: error,
  });
}
