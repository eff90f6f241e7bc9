/** Places for bodies that are at work. Who goes on after a wait comes before who begins. */
export class Slots {
  private readonly waiting: (() => void)[] = [];

  constructor(
    private free: number,
    private readonly onFree: () => void,
  ) {}

  /** Whether a body can begin now; it then has a place. */
  tryTake(): boolean {
    if (this.free === 0) return false;
    this.free--;
    return true;
  }

  /** Resolves with a place for a body that goes on. */
  take(): Promise<void> {
    if (this.tryTake()) return Promise.resolve();
    return new Promise((resolve) => {
      this.waiting.push(resolve);
    });
  }

  give(): void {
    const next = this.waiting.shift();
    if (next === undefined) {
      this.free++;
      this.onFree();
    } else next();
  }
}
