import type { Pid } from '../../base/ids.js';
import type { WaitReason } from '../../unit/caller.js';
import type { Notifier } from './process-watch.js';

/**
 * - `looking`: it looks whether something has arrived, or is about to.
 * - `yielding`: it has found something, and waits until a call before it has looked too.
 * - `parked`: it has found nothing, and waits to be woken.
 * - `taking`: its write unit is on the way. Units run in the order in which they were begun.
 */
type State = 'looking' | 'yielding' | 'parked' | 'taking';

/** Gives what comes to the calls of this kernel that wait for the same thing in the order in which they were made. */
export class InboxOrder {
  private readonly firstOf = new Map<Pid, InboxPlace>();

  /**
   * Adds a call to those that wait for `reason`. It leaves them when its place is disposed of. `looksAtOnce`: false where it may
   * have to wait between being woken and looking, as a body for a slot.
   */
  join(pid: Pid, reason: WaitReason, notifier: Notifier, looksAtOnce: boolean): InboxPlace {
    const place = new InboxPlace(this, pid, reason, notifier, looksAtOnce);
    let last = this.firstOf.get(pid);
    if (last === undefined) this.firstOf.set(pid, place);
    else {
      while (last.next !== undefined) last = last.next;
      last.next = place;
    }
    return place;
  }

  /** The first call that waits for something of a process; the others follow by `next`. */
  first(pid: Pid): InboxPlace | undefined {
    return this.firstOf.get(pid);
  }

  remove(place: InboxPlace): void {
    const { pid, next } = place;
    let before = this.firstOf.get(pid);
    if (before !== place) {
      while (before !== undefined && before.next !== place) before = before.next;
      if (before !== undefined) before.next = next;
    } else if (next === undefined) this.firstOf.delete(pid);
    else this.firstOf.set(pid, next);
  }
}

/** The place of one call among those that wait for the same thing. A linked list: thousands of processes may wait, each alone. */
export class InboxPlace implements Disposable {
  /** The call that was made after it and waits for something of the same process. */
  next: InboxPlace | undefined = undefined;
  private state: State = 'looking';

  constructor(
    private readonly order: InboxOrder,
    readonly pid: Pid,
    private readonly reason: WaitReason,
    private readonly notifier: Notifier,
    private readonly looksAtOnce: boolean,
  ) {}

  /** Whether all calls before this one take something already, so that what else there is is for this one. */
  get isNext(): boolean {
    for (let place = this.order.first(this.pid); place !== undefined; place = place.next) {
      if (place === this) return true;
      if (this.isLike(place) && place.state !== 'taking') return false;
    }
    return false;
  }

  look(): void {
    this.state = 'looking';
  }

  /** It has found nothing. Nor would those behind it; who yields to it looks again. */
  park(): void {
    this.state = 'parked';
    for (let place = this.next; place !== undefined; place = place.next) {
      if (!this.isLike(place) || place.state !== 'yielding') continue;
      place.wake();
      return;
    }
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
    let isAwaited = false;
    for (let place = this.order.first(this.pid); place !== undefined && place !== this; place = place.next) {
      if (!this.isLike(place)) continue;
      if (place.state === 'parked') {
        place.wake();
        if (place.looksAtOnce) place.state = 'looking';
      }
      if (place.state === 'looking' || place.state === 'yielding') isAwaited = true;
    }
    if (isAwaited) this.state = 'yielding';
    return isAwaited;
  }

  [Symbol.dispose](): void {
    this.order.remove(this);
    this.wakeNext();
  }

  /** The first of those left is next. One that yields may have to know that it is not waited for any more. */
  private wakeNext(): void {
    let isFirst = true;
    for (let place = this.order.first(this.pid); place !== undefined; place = place.next) {
      if (!this.isLike(place) || place.state === 'taking') continue;
      const isYielding = place.state === 'yielding';
      if (isFirst || isYielding) place.wake();
      if (isYielding) return;
      isFirst = false;
    }
  }

  private isLike({ reason: { kind, what } }: InboxPlace): boolean {
    return kind === this.reason.kind && what === this.reason.what;
  }

  private wake(): void {
    this.notifier.notify(this.pid);
  }
}
