/** Errors by which runs were ended: a branch of a body that nobody waits for may be rejected with one. */
const known = new WeakSet<object>();
let isGuarded = false;

/** Says that `error` ends a run, or its waits. */
export function markRunEnd<E extends Error>(error: E): E {
  known.add(error);
  return error;
}

/**
 * From now on, a branch of a body that was left alone and is rejected because its run has ended does not end the program of
 * the host; that can be long after the run. Every other rejection that nobody handles does what it does without this.
 */
export function guardHost(): void {
  if (isGuarded) return;
  isGuarded = true;
  process.on('unhandledRejection', onUnhandled);
}

function onUnhandled(reason: unknown): void {
  if (typeof reason === 'object' && reason !== null && known.has(reason)) return;
  // With a listener of its own the host decides; without one, node would throw it.
  if (process.listenerCount('unhandledRejection') === 1) throw reason;
}
