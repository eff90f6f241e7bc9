let waiters = 0;
let timer: NodeJS.Timeout | undefined;

/** Keeps the Node.js process running, until the result is disposed, while a caller waits for another program. */
export function keepAlive(): Disposable {
  waiters++;
  timer ??= setInterval(() => undefined, 2 ** 30);
  return new Waiter();
}

class Waiter implements Disposable {
  private isDisposed = false;

  [Symbol.dispose](): void {
    if (this.isDisposed) return;
    this.isDisposed = true;
    if (--waiters > 0) return;
    clearInterval(timer);
    timer = undefined;
  }
}
