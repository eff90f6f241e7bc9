import { KernelError } from '../../../src/base/errors.js';

/** The code of the error that `call` throws; a call that returns, or throws anything else, fails the test. */
export function codeOf(call: () => unknown): string {
  return errorOf(call).code;
}

export function errorOf(call: () => unknown): KernelError {
  let result: unknown;
  try {
    result = call();
  } catch (error) {
    if (error instanceof KernelError) return error;
    throw error;
  }
  throw new Error(`was not refused: ${JSON.stringify(result)}`);
}
