import { ProcessError } from '../../base/errors.js';
import type { RunEntry } from '../../kernel/process/run-entry-repository.js';
import { isWithin, type OpenCall, stepsAround } from './call-tree.js';

/** A call that was answered in an earlier run and waits for its turn to be answered again. */
interface Claim {
  deliver(): Promise<void>;
}

/** A call that no earlier run has made, held back while answers of earlier runs are still to be asked for. */
interface Held {
  readonly call: OpenCall;
  release(): void;
}

/**
 * What earlier runs of a body were answered. A rerun gets the same answers by the keys of its calls, in the order of
 * their commits, one in each turn of the event loop: branches that ran beside each other go the same way again.
 */
export class Replay {
  private readonly answered: RunEntry[];
  /** A run that replays nothing, as most that wait for long, needs none. */
  private byKey: Map<string, RunEntry> | undefined;
  /** What steps that are still open have called, and were answered in this run. */
  private readonly inner: RunEntry[] = [];
  private readonly claims: (Claim & { readonly key: string })[] = [];
  private readonly held: Held[] = [];
  private next = 0;
  private delivering = false;

  constructor(entries: readonly RunEntry[]) {
    if (entries.length > 0) this.byKey = new Map(entries.map((entry) => [entry.key, entry]));
    const answers = new Set(entries.filter(isAnswered).map(({ key }) => key));
    this.answered = entries.filter(
      (entry) => isAnswered(entry) && !stepsAround(entry.key).some((key) => answers.has(key)),
    );
  }

  /** What is known of a call that has begun and not been answered. */
  begun({ key }: OpenCall): RunEntry | undefined {
    const entry = this.byKey?.get(key);
    return entry === undefined || isAnswered(entry) ? undefined : entry;
  }

  /** The answer of an earlier run as `revive` gives it, in its turn; undefined when the call has to be made now. */
  async claim<T>(call: OpenCall, revive: (entry: RunEntry) => Promise<T>): Promise<{ readonly answer: T } | undefined> {
    const entry = this.byKey?.get(call.key);
    if (entry === undefined) return this.isOver ? undefined : this.hold(call);
    if (!isAnswered(entry)) return undefined;
    return new Promise((resolve, reject) => {
      const deliver = () => revive(entry).then((answer) => resolve({ answer }), reject);
      this.claims.push({ key: call.key, deliver });
    });
  }

  /** An answer of this run: a step that is tried again gets it again. */
  answer(entry: RunEntry): void {
    if (stepsAround(entry.key).length > 0) this.inner.push(entry);
  }

  /** A step is tried again: what it called before is answered as it was, but for what is dropped. */
  again(step: string, dropped: readonly string[]): void {
    const calls = this.inner.filter(({ key }) => isWithin(key, step) && !dropped.includes(key));
    this.hide(step);
    this.byKey ??= new Map();
    for (const entry of calls) this.byKey.set(entry.key, entry);
    this.answered.push(...calls.sort((a, b) => a.seq - b.seq));
  }

  /** A step that has been answered hides what it called, also what it did not call again. */
  hide(step: string): void {
    drop(this.inner, ({ key }) => isWithin(key, step));
    const rest = this.answered.splice(this.next).filter(({ key }) => !isWithin(key, step));
    this.answered.push(...rest);
  }

  /**
   * Does what can be done in this turn, and answers whether there was anything; `again` is called when there may be more.
   * `isQuiet`: no call is at work. Throws NON_DETERMINISTIC for a body that goes another way than it went before.
   */
  turn(isQuiet: boolean, again: () => void): boolean {
    if (this.delivering) return true;
    const entry = this.answered[this.next];
    const claim = this.claims.find(({ key }) => key === entry?.key);
    if (entry !== undefined && claim !== undefined) {
      this.deliver(entry, claim, again);
      return true;
    }
    const held = [...this.held];
    const free = entry === undefined ? held : held.filter(({ call }) => isWithin(entry.key, call.key));
    for (const { release } of free) release();
    const asked = held[0]?.call.key ?? this.claims[0]?.key;
    if (entry === undefined || asked === undefined || free.length > 0 || !isQuiet) return free.length > 0;
    throw nonDeterministic(entry.key, asked);
  }

  /** The first answer that nobody has asked for. */
  get unclaimed(): string | undefined {
    return this.answered.slice(this.next).find(({ key }) => !this.claims.some((claim) => claim.key === key))?.key;
  }

  /** Whether everything that was answered before has been answered again. */
  get isOver(): boolean {
    return this.next >= this.answered.length && !this.delivering;
  }

  private hold(call: OpenCall): Promise<undefined> {
    return new Promise((resolve) => {
      const release = () => {
        drop(this.held, (held) => held.call === call);
        resolve(undefined);
      };
      this.held.push({ call, release });
    });
  }

  private deliver(entry: RunEntry, claim: Claim, again: () => void): void {
    this.delivering = true;
    this.next++;
    drop(this.claims, ({ key }) => key === entry.key);
    this.answer(entry);
    void claim.deliver().finally(() => {
      this.delivering = false;
      again();
    });
  }
}

/** Takes out of a short list what is over. */
function drop<T>(list: T[], isOver: (item: T) => boolean): void {
  for (let index = list.length - 1; index >= 0; index--) if (isOver(list[index] as T)) list.splice(index, 1);
}

function isAnswered({ status }: RunEntry): boolean {
  return status === 'done' || status === 'failed';
}

export function nonDeterministic(recorded: string, asked: string): ProcessError {
  const shown = (key: string) => key.replaceAll('\n', ' > ');
  return new ProcessError(
    'NON_DETERMINISTIC',
    `The body went another way than before: recorded is "${shown(recorded)}", asked was "${shown(asked)}".`,
    {
      facts: { recorded: shown(recorded), asked: shown(asked) },
      hint: 'A body makes the same calls in the same order when it is run again: put time, chance and input into steps, and give a changed body a new version.',
    },
  );
}
