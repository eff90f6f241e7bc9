/** How to take back what a unit has changed in memory, newest last. */
export class UndoLog {
  private readonly steps: (() => void)[] = [];

  push(step: () => void): void {
    this.steps.push(step);
  }

  /** Takes back everything since the last `clear`. */
  undo(): void {
    for (let step = this.steps.pop(); step !== undefined; step = this.steps.pop()) step();
  }

  /** Keeps what was changed. */
  clear(): void {
    this.steps.length = 0;
  }
}
