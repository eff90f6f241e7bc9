/** Limits how many bodies are at work at once. One that goes on after a wait gets a slot before one that begins. */
export class Slots {
  private readonly waiting: (() => void)[] = [];

  constructor(
    private free: number,
    private readonly onFree: () => void,
  ) {}

  /** Takes a slot for a body that begins, if one is free. */
  tryAcquire(): boolean {
    if (this.free === 0) return false;
    this.free--;
    return true;
  }

  /** Resolves when a body that goes on has a slot. */
  acquire(): Promise<void> {
    if (this.tryAcquire()) return Promise.resolve();
    return new Promise((resolve) => {
      this.waiting.push(resolve);
    });
  }

  release(): void {
    const next = this.waiting.shift();
    if (next === undefined) {
      this.free++;
      this.onFree();
    } else next();
  }
}
