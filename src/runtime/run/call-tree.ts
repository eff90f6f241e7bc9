import type { KernelError } from '../../base/errors.js';
import type { WaitReason } from '../../unit/caller.js';

export interface Blocked extends WaitReason {
  readonly since: number;
}

/** One call of a body that has not answered yet. */
export class OpenCall {
  /** What it waits for; absent while it is held back for another reason. */
  blockage: Blocked | undefined;
  isBlocked = false;
  isOpen = true;
  /** How many calls are open that a step has made. */
  inner = 0;
  /** Ends its wait. */
  interrupt: ((reason: KernelError) => void) | undefined;
  /** On demand, since most calls make none: a run that waits should cost little. */
  private counts: Map<string, number> | undefined;
  private attempt = 0;

  constructor(
    /** Enclosing step, kind, name, and which of that kind and name, a line for each level. */
    readonly key: string,
    readonly outer: OpenCall | undefined,
  ) {}

  /** Whether it is at work itself: not blocked, and not a step that waits for what it has called. */
  get isActive(): boolean {
    return this.isOpen && !this.isBlocked && this.inner === 0;
  }

  nextKey(kind: string, name: string): string {
    this.counts ??= new Map();
    return keyBelow(this.key, this.counts, kind, name);
  }

  /** A step that is tried again makes the same calls again. */
  newAttempt(): number {
    this.counts = undefined;
    return ++this.attempt;
  }

  isAttempt(attempt: number): boolean {
    return this.isOpen && this.attempt === attempt;
  }
}

/** The calls of a run that are open, and whether any of them is at work. */
export class CallTree {
  private readonly open = new Set<OpenCall>();
  private readonly counts = new Map<string, number>();
  private active = 0;

  constructor(private readonly onChange: () => void) {}

  /** Its key is fixed here, when the call is made. */
  begin(outer: OpenCall | undefined, kind: string, name: string): OpenCall {
    const key = outer === undefined ? keyBelow('', this.counts, kind, name) : outer.nextKey(kind, name);
    return this.add(new OpenCall(key, outer));
  }

  /** A call that is not kept in the journal. */
  beginUnkept(outer: OpenCall | undefined): OpenCall {
    return this.add(new OpenCall('', outer));
  }

  end(call: OpenCall): void {
    this.change(call, () => {
      call.isOpen = false;
      this.open.delete(call);
    });
    const { outer } = call;
    if (outer === undefined) return;
    this.change(outer, () => {
      outer.inner--;
    });
  }

  block(call: OpenCall, blockage?: Blocked): void {
    this.change(call, () => {
      call.isBlocked = true;
      call.blockage = blockage;
    });
  }

  unblock(call: OpenCall): void {
    this.change(call, () => {
      call.isBlocked = false;
      call.blockage = undefined;
    });
  }

  /** Every call in flight is blocked, and there is one. */
  get isQuiet(): boolean {
    return this.open.size > 0 && this.active === 0;
  }

  calls(): Iterable<OpenCall> {
    return this.open;
  }

  /** What the calls wait for, the oldest first. */
  blockages(): { readonly call: OpenCall; readonly blockage: Blocked }[] {
    const found: { call: OpenCall; blockage: Blocked }[] = [];
    for (const call of this.open) if (call.blockage !== undefined) found.push({ call, blockage: call.blockage });
    return found.sort((a, b) => a.blockage.since - b.blockage.since);
  }

  private add(call: OpenCall): OpenCall {
    const { outer } = call;
    this.open.add(call);
    this.active++;
    if (outer !== undefined) {
      this.change(outer, () => {
        outer.inner++;
      });
    }
    return call;
  }

  private change(call: OpenCall, work: () => void): void {
    const before = Number(call.isActive);
    work();
    this.active += Number(call.isActive) - before;
    this.onChange();
  }
}

/** What a call is named by may be anything that a body has given. */
const nameMax = 256;

function keyBelow(outer: string, counts: Map<string, number>, kind: string, name: string): string {
  const what = name === '' ? kind : `${kind} ${name.slice(0, nameMax).replaceAll('\n', ' ')}`;
  const nth = (counts.get(what) ?? 0) + 1;
  counts.set(what, nth);
  return `${outer === '' ? '' : `${outer}\n`}${what} #${nth}`;
}

/** Whether the call `key` was made within the step `step`. */
export function isWithin(key: string, step: string): boolean {
  return key.startsWith(`${step}\n`);
}

/** The keys of the steps that the call `key` was made within. */
export function stepsAround(key: string): string[] {
  const lines = key.split('\n');
  return lines.slice(1).map((_, index) => lines.slice(0, index + 1).join('\n'));
}
