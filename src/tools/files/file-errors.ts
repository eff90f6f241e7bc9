import { CapabilityError, errorText, KernelError, ToolError } from '../../base/errors.js';
import { invalidPath } from '../../kernel/workspace/working-directory.js';

/** Runs `work` on a file and turns its errors into kernel errors, which name the path that the caller gave. */
export async function withFile<T>(inputPath: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    throw toKernelError(inputPath, error);
  }
}

/** A link or another file is where the expected one was. Has the code of the system's own error for links. */
export class UnexpectedLink extends Error {
  readonly code = 'ELOOP';
}

/** A file of the kernel itself, which is never opened. */
export class KernelFile extends Error {}

/** The file has changed since the call was authorized. */
export function changedMeanwhile(inputPath: string, problem: string): ToolError {
  return new ToolError('CONFLICT', `The file ${JSON.stringify(inputPath)} has changed meanwhile: ${problem}.`, {
    facts: { path: inputPath, problem },
    hint: 'Look at it again, and repeat the call if it is still wanted.',
    retryable: true,
  });
}

/** The code of an error of the operating system; undefined for other errors. */
export function systemCode(error: unknown): string | undefined {
  if (error instanceof UnexpectedLink) return error.code;
  return error instanceof Error && 'syscall' in error ? (error as NodeJS.ErrnoException).code : undefined;
}

function kernelFileDenied(inputPath: string): CapabilityError {
  const shown = inputPath.slice(0, 200).toWellFormed();
  return new CapabilityError('CAPABILITY_DENIED', `The file ${JSON.stringify(shown)} belongs to the kernel itself.`, {
    facts: { path: shown, code: 'NO_CAPABILITY' },
    hint: 'No capability gives access to the files of the kernel; name another file.',
  });
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

function toKernelError(inputPath: string, error: unknown): KernelError {
  if (error instanceof KernelError) return error;
  if (error instanceof KernelFile) return kernelFileDenied(inputPath);
  const code = systemCode(error);
  const problem = problems[code ?? ''];
  if (problem !== undefined) return invalidPath(inputPath, problem);
  // The message of the system ends with the internal path, which is cut off.
  const [reason = ''] = code === undefined ? [errorText(error)] : errorText(error).split(',');
  return new ToolError('TOOL_FAILED', `The file ${JSON.stringify(inputPath)} could not be used: ${reason}.`, {
    facts: { path: inputPath, ...(code === undefined ? {} : { reason: code }) },
    hint: code === 'ENOTEMPTY' || code === 'EEXIST' ? 'Delete what is in the folder first.' : 'See the reason.',
    cause: error,
  });
}
