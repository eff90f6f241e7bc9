/** Functions that are called, in the order in which they were added, when something happens. */
export class Listeners<Args extends readonly unknown[] = []> {
  private readonly listeners = new Set<(...args: Args) => void>();

  get size(): number {
    return this.listeners.size;
  }

  /** Disposing the result removes the listener. */
  add(listener: (...args: Args) => void): Disposable {
    this.listeners.add(listener);
    return { [Symbol.dispose]: () => void this.listeners.delete(listener) };
  }

  /** Calls every listener. A listener must not throw: those after it would not be called. */
  notify(...args: Args): void {
    for (const listener of this.listeners) listener(...args);
  }

  clear(): void {
    this.listeners.clear();
  }
}
