let keepers = 0;
let timer: NodeJS.Timeout | undefined;

/** Keeps the program running while somebody waits for something that another program may do. */
export function keepAlive(): Disposable {
  keepers++;
  timer ??= setInterval(() => undefined, 2 ** 30);
  return new Keeper();
}

class Keeper implements Disposable {
  private isOver = false;

  [Symbol.dispose](): void {
    if (this.isOver) return;
    this.isOver = true;
    if (--keepers > 0) return;
    clearInterval(timer);
    timer = undefined;
  }
}
