/**
 * - `looking`: it looks whether something has arrived, or is about to.
 * - `yielding`: it has found something, and waits until a call before it has looked too.
 * - `parked`: it has found nothing, and waits to be woken.
 * - `taking`: its write unit is on the way. Units run in the order in which they were begun.
 */
type State = 'looking' | 'yielding' | 'parked' | 'taking';

interface Waiter {
  wake(): void;
  /** False where it may have to wait before it looks, as a body for a slot. */
  readonly looksAtOnce: boolean;
}

/** Gives what comes to the calls of this kernel that wait for the same thing in the order in which they were made. */
export class InboxOrder {
  private readonly lines = new Map<string, InboxPlace[]>();

  /** Adds a call to those that wait for `key`. It leaves them when its place is disposed of. */
  join(key: string, waiter: Waiter): InboxPlace {
    const line = this.lines.get(key) ?? [];
    if (line.length === 0) this.lines.set(key, line);
    const place = new InboxPlace(line, waiter, () => this.lines.delete(key));
    line.push(place);
    return place;
  }
}

/** The place of one call among those that wait for the same thing. */
export class InboxPlace implements Disposable {
  private state: State = 'looking';

  constructor(
    private readonly line: InboxPlace[],
    private readonly waiter: Waiter,
    private readonly onEmpty: () => void,
  ) {}

  /** Whether all calls before this one take something already, so that what else there is is for this one. */
  get isNext(): boolean {
    for (const place of this.line) {
      if (place === this) return true;
      if (place.state !== 'taking') return false;
    }
    return false;
  }

  look(): void {
    this.state = 'looking';
  }

  /** It has found nothing. Nor would those behind it; who yields to it looks again. */
  park(): void {
    this.state = 'parked';
    this.behind()
      .find(({ state }) => state === 'yielding')
      ?.waiter.wake();
  }

  take(): void {
    this.state = 'taking';
    this.wakeNext();
  }

  /**
   * Lets those before this one look at what it has found. Answers whether they do so now, and wake it afterwards; otherwise
   * what it has found is theirs, and it waits for what comes later.
   */
  yieldTurn(): boolean {
    const before = this.line.slice(0, this.line.indexOf(this));
    for (const place of before) {
      if (place.state !== 'parked') continue;
      place.waiter.wake();
      if (place.waiter.looksAtOnce) place.state = 'looking';
    }
    const isAwaited = before.some(({ state }) => state === 'looking' || state === 'yielding');
    if (isAwaited) this.state = 'yielding';
    return isAwaited;
  }

  [Symbol.dispose](): void {
    this.line.splice(this.line.indexOf(this), 1);
    if (this.line.length === 0) this.onEmpty();
    else this.wakeNext();
  }

  private behind(): InboxPlace[] {
    return this.line.slice(this.line.indexOf(this) + 1);
  }

  /** The first of those left is next. One that yields may have to know that it is not waited for any more. */
  private wakeNext(): void {
    const next = this.line.find(({ state }) => state !== 'taking');
    const yielding = this.line.find(({ state }) => state === 'yielding');
    next?.waiter.wake();
    if (yielding !== next) yielding?.waiter.wake();
  }
}
