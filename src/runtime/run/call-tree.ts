import type { KernelError } from '../../base/errors.js';
import type { WaitReason } from '../../unit/caller.js';

/** The reason why a call waits, and since when. */
export interface CallWait extends WaitReason {
  readonly since: number;
}

/** An open call that waits for something the process table can show. */
export interface WaitingCall {
  readonly call: OpenCall;
  readonly wait: CallWait;
}

/** One call of a body that has not been answered yet. */
export class OpenCall {
  isOpen = true;
  /** Whether it makes no progress by itself: it waits for something, or the kernel holds it back. */
  isBlocked = false;
  /** Absent while it is not blocked, and while the kernel holds it back. */
  wait: CallWait | undefined;
  /** The number of open calls that were made in it; only steps have any. */
  openInnerCalls = 0;
  /** Rejects its wait; absent while it is not blocked. */
  interrupt: ((reason: KernelError) => void) | undefined;
  /** Created on demand: most calls have no inner ones, and a waiting run should take little memory. */
  private keyCounts: Map<string, number> | undefined;
  /** The id of the record of its start, where it has one. */
  record: string | undefined;
  private attempt = 0;

  constructor(
    /** Enclosing steps, kind, name, and which of that kind and name: one line for each level. Empty for a live call. */
    readonly key: string,
    /** The step that the call was made in. */
    readonly step: OpenCall | undefined,
    /** Whether it is a report that the body does not wait for. */
    readonly isReport = false,
  ) {}

  /** Whether it is at work itself: not blocked, and not a step that waits for its inner calls. */
  get isActive(): boolean {
    return this.isOpen && !this.isBlocked && this.openInnerCalls === 0;
  }

  nextInnerKey(kind: string, name: string): string {
    this.keyCounts ??= new Map();
    return nextKey(this.key, this.keyCounts, kind, name);
  }

  /** Begins an attempt of a step. Keys are counted from the start, so that each attempt makes calls with the same keys. */
  beginAttempt(): number {
    this.keyCounts = undefined;
    return ++this.attempt;
  }

  isCurrentAttempt(attempt: number): boolean {
    return this.isOpen && this.attempt === attempt;
  }
}

/** The open calls of a run, and whether any of them is at work. `onChange` is called after every change. */
export class CallTree {
  private readonly open = new Set<OpenCall>();
  private readonly keyCounts = new Map<string, number>();
  private activeCalls = 0;

  constructor(private readonly onChange: () => void) {}

  /** Adds a call that has an entry in the journal. Its key is fixed here, by the order in which calls are made. */
  beginJournalled(step: OpenCall | undefined, kind: string, name: string): OpenCall {
    const key = step === undefined ? nextKey('', this.keyCounts, kind, name) : step.nextInnerKey(kind, name);
    return this.add(new OpenCall(key, step));
  }

  /** Adds a call that has no entry in the journal. */
  beginLive(step: OpenCall | undefined, isReport = false): OpenCall {
    return this.add(new OpenCall('', step, isReport));
  }

  /** Adds a call whose key does not depend on the order in which calls are made. */
  beginMark(step: OpenCall | undefined, key: string): OpenCall {
    return this.add(new OpenCall(key, step));
  }

  finish(call: OpenCall): void {
    this.update(call, () => {
      call.isOpen = false;
      this.open.delete(call);
    });
    const { step } = call;
    if (step === undefined) return;
    this.update(step, () => {
      step.openInnerCalls--;
    });
  }

  block(call: OpenCall, wait?: CallWait): void {
    this.update(call, () => {
      call.isBlocked = true;
      call.wait = wait;
    });
  }

  unblock(call: OpenCall): void {
    this.update(call, () => {
      call.isBlocked = false;
      call.wait = undefined;
    });
  }

  /** Whether there are open calls, and none of them is at work. */
  get isAllBlocked(): boolean {
    return this.open.size > 0 && this.activeCalls === 0;
  }

  openCalls(): Iterable<OpenCall> {
    return this.open;
  }

  /** The calls that wait, the one that has waited longest first. */
  waitingCalls(): WaitingCall[] {
    const waiting: WaitingCall[] = [];
    for (const call of this.open) if (call.wait !== undefined) waiting.push({ call, wait: call.wait });
    return waiting.sort((a, b) => a.wait.since - b.wait.since);
  }

  private add(call: OpenCall): OpenCall {
    const { step } = call;
    this.open.add(call);
    this.activeCalls++;
    if (step !== undefined) {
      this.update(step, () => {
        step.openInnerCalls++;
      });
    }
    return call;
  }

  private update(call: OpenCall, change: () => void): void {
    const before = Number(call.isActive);
    change();
    this.activeCalls += Number(call.isActive) - before;
    this.onChange();
  }
}

/** Names come from bodies, and may be of any length. */
const nameCharsMax = 256;

function nextKey(step: string, counts: Map<string, number>, kind: string, name: string): string {
  const label = name === '' ? kind : `${kind} ${name.slice(0, nameCharsMax).replaceAll('\n', ' ')}`;
  const count = (counts.get(label) ?? 0) + 1;
  counts.set(label, count);
  return `${step === '' ? '' : `${step}\n`}${label} #${count}`;
}

const markPrefix = 'patched ';

/** The key of a mark, which belongs to the whole run: there is one of each name, whichever step asks for it. */
export function markKeyOf(name: string): string {
  return markPrefix + name;
}

export function isMarkKey(key: string): boolean {
  return key.startsWith(markPrefix) && !key.includes('\n');
}

/** The key of the arguments of a person in the place of those of a tool call. */
export function editKeyOf({ key }: OpenCall): string {
  return `${key}\n${editLabel}`;
}

const editLabel = 'edit';

export function isEditKey(key: string): boolean {
  return key.endsWith(`\n${editLabel}`);
}

/** Whether the call with `key` was made within the step with the key `step`. */
export function isWithinStep(key: string, step: string): boolean {
  return key.startsWith(`${step}\n`);
}

/** Whether the call with `key` logged a line. */
export function isLogKey(key: string): boolean {
  return /(?:^|\n)log #\d+$/.test(key);
}

/** The keys of the steps that the call with `key` was made within, the outermost first. */
export function enclosingStepsOf(key: string): string[] {
  const lines = key.split('\n');
  return lines.slice(1).map((_, index) => lines.slice(0, index + 1).join('\n'));
}
