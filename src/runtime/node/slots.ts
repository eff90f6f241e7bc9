/** Limits how many bodies are at work at once. One that goes on after a wait gets a slot before one that begins. */
export class Slots {
  private readonly waiting: (() => void)[] = [];

  constructor(
    private freeSlots: number,
    private readonly onFree: () => void,
  ) {}

  get free(): number {
    return this.freeSlots;
  }

  /** Takes a slot for a body that begins, if one is free. */
  tryAcquire(): boolean {
    if (this.freeSlots === 0) return false;
    this.freeSlots--;
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
      this.freeSlots++;
      this.onFree();
    } else next();
  }
}

/** The slots that a unit takes for the bodies that it starts, and gives back when it is not committed. */
export class SlotBatch {
  private taken = 0;

  constructor(private readonly slots: Slots) {}

  get free(): number {
    return this.slots.free;
  }

  tryTake(): boolean {
    const isTaken = this.slots.tryAcquire();
    if (isTaken) this.taken++;
    return isTaken;
  }

  /** To be called when the unit begins, also for another time, and when it was refused. */
  giveBack(): void {
    for (; this.taken > 0; this.taken--) this.slots.release();
  }
}
