/** Whether a value is an AbortSignal, and not an object that merely has its prototype. */
export function isAbortSignal(value: unknown): value is AbortSignal {
  try {
    return typeof Reflect.get(AbortSignal.prototype, 'aborted', value) === 'boolean';
  } catch {
    // The getter refuses everything that is not one.
    return false;
  }
}
