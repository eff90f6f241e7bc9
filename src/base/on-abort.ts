/** Calls `listener` once when the signal aborts, or now if it has. Disposing of the result removes the listener. */
export function onAbort(signal: AbortSignal | undefined, listener: () => void): Disposable {
  if (signal?.aborted === true) listener();
  else signal?.addEventListener('abort', listener, { once: true });
  return { [Symbol.dispose]: () => signal?.removeEventListener('abort', listener) };
}

/**
 * A signal that aborts when the first of several does, with the same reason. Disposing of it removes its listeners from them:
 * they may live much longer.
 */
export class CombinedSignal implements Disposable {
  private readonly controller = new AbortController();
  private readonly listeners: readonly Disposable[];

  constructor(signals: readonly (AbortSignal | undefined)[]) {
    this.listeners = signals.map((signal) => onAbort(signal, () => this.controller.abort(signal?.reason)));
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  [Symbol.dispose](): void {
    for (const listener of this.listeners) listener[Symbol.dispose]();
  }
}
