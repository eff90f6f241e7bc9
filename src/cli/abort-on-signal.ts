/** Aborts when the command is interrupted. Disposing of it lets signals have their usual effect again. */
export class AbortOnSignal implements Disposable {
  private readonly controller = new AbortController();
  private readonly abort = () => this.controller.abort();

  constructor() {
    for (const name of names) process.once(name, this.abort);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  [Symbol.dispose](): void {
    for (const name of names) process.off(name, this.abort);
  }
}

const names = ['SIGINT', 'SIGTERM'] as const;
