/** Whether a value is an AbortSignal, and not an object that merely has its prototype. */
export function isAbortSignal(value: unknown): value is AbortSignal {
  // Every object of every spec comes by here, and a getter that refuses costs more than a spawn's SQL.
  if (!(value instanceof AbortSignal)) return false;
  try {
    return typeof Reflect.get(AbortSignal.prototype, 'aborted', value) === 'boolean';
  } catch {
    // The getter refuses everything that is not one.
    return false;
  }
}
