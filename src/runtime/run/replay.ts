import type { CallEdit, PaidCall, TakenUses } from '../../kernel/face/tool-gate.js';
import { isStateKey } from '../../kernel/process/renewed-state.js';
import type { RunEntry } from '../../kernel/process/run-entry-repository.js';
import {
  editKeyOf,
  enclosingStepsOf,
  isEditKey,
  isLogKey,
  isMarkKey,
  isWithinStep,
  type OpenCall,
} from './call-tree.js';
import { PatchMarks } from './patch-marks.js';
import { nonDeterministic } from './run-errors.js';

/** A call that has an answer in the journal and waits for its turn to get it. */
interface Claim {
  readonly key: string;
  deliver(): Promise<void>;
}

/** A call without an entry in the journal, held back while answers of earlier runs are not all delivered. */
interface DeferredCall {
  readonly call: OpenCall;
  release(): void;
}

/**
 * The journal of earlier runs, as a rerun of the body gets it. Each call is matched by its key and gets the answer it had.
 * Answers are delivered in the order of their commits, one in each turn of the event loop, so that branches of a body
 * that ran concurrently are interleaved as before.
 */
export class Replay {
  /** Absent until they are asked for, to save memory. */
  private knownMarks: PatchMarks | undefined;
  /** To be delivered in this order, from `next` on; without the calls of steps that have an answer themselves. */
  private readonly answers: RunEntry[];
  private next = 0;
  /** Absent without entries, to save memory: most runs that wait for long replay nothing. */
  private byKey: Map<string, RunEntry> | undefined;
  /** Answers of this run to calls within steps that are still open. */
  private readonly stepAnswers: RunEntry[] = [];
  private readonly claims: Claim[] = [];
  private readonly deferred: DeferredCall[] = [];
  /** The keys of lines that are logged. They are not delivered, and may be missing or new in a rerun. */
  private logged: Set<string> | undefined;
  /** By the key of their entry. Absent without any, to save memory. */
  private edits: Map<string, CallEdit> | undefined;
  private isDelivering = false;
  /** The keys of calls that earlier runs had begun and this one has made again. Absent without any, to save memory. */
  private madeAgain: Set<string> | undefined;

  constructor(all: readonly RunEntry[]) {
    const entries = all.filter(({ key }) => !isLogKey(key) && !isStateKey(key) && !isEditKey(key));
    const edits = all.filter(({ key }) => isEditKey(key));
    if (edits.length > 0) this.edits = new Map(edits.map(({ key, value }) => [key, value as CallEdit]));
    if (entries.length < all.length) this.logged = new Set(all.map(({ key }) => key).filter(isLogKey));
    if (entries.some(({ key }) => isMarkKey(key))) this.knownMarks = new PatchMarks(entries);
    if (entries.length > 0) this.byKey = new Map(entries.map((entry) => [entry.key, entry]));
    const answered = new Set(entries.filter(isAnswered).map(({ key }) => key));
    this.answers = entries.filter(
      (entry) => isAnswered(entry) && !enclosingStepsOf(entry.key).some((step) => answered.has(step)),
    );
  }

  get marks(): PatchMarks {
    this.knownMarks ??= new PatchMarks([]);
    return this.knownMarks;
  }

  /** Whether all answers of earlier runs have been delivered. */
  get isComplete(): boolean {
    return this.next >= this.answers.length && !this.isDelivering;
  }

  /** The key of the first answer that no call of this run has claimed. A body need not ask for the marks in its journal. */
  get firstUnclaimed(): string | undefined {
    const isClaimed = (key: string) => this.claims.some((claim) => claim.key === key);
    return this.answers.slice(this.next).find(({ key }) => !isMarkKey(key) && !isClaimed(key))?.key;
  }

  /** Whether the answer with this key is still to be delivered. */
  hasLeft(key: string): boolean {
    return this.answers.slice(this.next).some((entry) => entry.key === key);
  }

  /** The entry of a call that an earlier run has begun and that has no answer. */
  findUnanswered({ key }: OpenCall): RunEntry | undefined {
    const entry = this.byKey?.get(key);
    return entry === undefined || isAnswered(entry) ? undefined : entry;
  }

  /** Present when an earlier run began the tool call and was charged for it, and this one has not made it yet. */
  paymentFor(call: OpenCall): PaidCall | undefined {
    const entry = this.findUnanswered(call);
    if (entry === undefined || this.madeAgain?.has(call.key) === true) return undefined;
    const uses = entry.value === null ? undefined : (entry.value as object as TakenUses);
    return { uses, edit: this.findEdit(call) };
  }

  /** The arguments of a person that the tool call was made with. */
  findEdit(call: OpenCall): CallEdit | undefined {
    return this.edits?.get(editKeyOf(call));
  }

  /** The payment of the earlier run is for one call: what a retry makes after it is charged. */
  spendPayment(call: OpenCall): void {
    if (this.findUnanswered(call) === undefined) return;
    this.madeAgain ??= new Set();
    this.madeAgain.add(call.key);
  }

  /** The recorded answer as `revive` gives it, when its turn comes; undefined when the call is to be made now. */
  async claimAnswer<T>(
    call: OpenCall,
    revive: (entry: RunEntry) => Promise<T>,
  ): Promise<{ readonly answer: T } | undefined> {
    const entry = this.byKey?.get(call.key);
    if (entry === undefined) return this.isComplete ? undefined : this.defer(call);
    if (!isAnswered(entry)) return undefined;
    return new Promise((resolve, reject) => {
      const deliver = () => revive(entry).then((answer) => resolve({ answer }), reject);
      this.claims.push({ key: call.key, deliver });
    });
  }

  /** Whether the call is a line that is logged already, by this run or an earlier one. */
  isLogged({ key }: OpenCall): boolean {
    return this.logged?.has(key) === true;
  }

  /** The keys of the lines that were logged within a step. */
  logsWithin(step: string): string[] {
    return [...(this.logged ?? [])].filter((key) => isWithinStep(key, step));
  }

  /** Whether an answer of this run is asked for again: by the next attempt of the step around it, or as a line that is logged. */
  keeps({ key }: RunEntry): boolean {
    return isLogKey(key) || enclosingStepsOf(key).length > 0;
  }

  /** Adds an answer that was journalled by this run: the next attempt of the step around it gets it again. */
  addAnswer(entry: RunEntry): void {
    if (isLogKey(entry.key)) {
      this.logged ??= new Set();
      this.logged.add(entry.key);
      return;
    }
    if (enclosingStepsOf(entry.key).length > 0) this.stepAnswers.push(entry);
  }

  /** Before another attempt of a step: the calls within it get the answers they had, but for those in `dropped`. */
  restartStep(step: string, dropped: readonly string[]): void {
    const entries = this.stepAnswers.filter(({ key }) => isWithinStep(key, step) && !dropped.includes(key));
    this.dropCallsWithin(step);
    for (const key of dropped) this.logged?.delete(key);
    this.byKey ??= new Map();
    for (const entry of entries) this.byKey.set(entry.key, entry);
    this.answers.push(...entries.sort((a, b) => a.seq - b.seq));
  }

  /** Once a step has its answer, those of the calls within it are not delivered any more. */
  dropCallsWithin(step: string): void {
    removeWhere(this.stepAnswers, ({ key }) => isWithinStep(key, step));
    const rest = this.answers.splice(this.next).filter(({ key }) => !isWithinStep(key, step));
    this.answers.push(...rest);
  }

  /**
   * Delivers the next answer, or lets calls begin that were held back; answers whether it did either. `advanceAgain` is
   * called when the delivery is done. Throws NON_DETERMINISTIC when all calls are blocked and none of them claims the next
   * answer: the body goes another way than in earlier runs.
   */
  advance(isAllBlocked: boolean, advanceAgain: () => void): boolean {
    if (this.isDelivering) return true;
    const entry = this.answers[this.next];
    const claim = this.claims.find(({ key }) => key === entry?.key);
    if (entry !== undefined && claim !== undefined) {
      this.deliver(entry, claim, advanceAgain);
      return true;
    }
    if (entry !== undefined && isMarkKey(entry.key) && isAllBlocked) {
      this.next++;
      return this.advance(isAllBlocked, advanceAgain);
    }
    const deferred = [...this.deferred];
    // A retry drops the entry of a step that failed, not those of all calls within it: the step has to run to claim them.
    const released = entry === undefined ? deferred : deferred.filter(({ call }) => isWithinStep(entry.key, call.key));
    for (const { release } of released) release();
    const asked = deferred[0]?.call.key ?? this.claims[0]?.key;
    if (entry === undefined || asked === undefined || released.length > 0 || !isAllBlocked) return released.length > 0;
    throw nonDeterministic(entry.key, asked);
  }

  private defer(call: OpenCall): Promise<undefined> {
    return new Promise((resolve) => {
      const release = () => {
        removeWhere(this.deferred, (each) => each.call === call);
        resolve(undefined);
      };
      this.deferred.push({ call, release });
    });
  }

  private deliver(entry: RunEntry, claim: Claim, advanceAgain: () => void): void {
    this.isDelivering = true;
    this.next++;
    removeWhere(this.claims, ({ key }) => key === entry.key);
    this.addAnswer(entry);
    void claim.deliver().finally(() => {
      this.isDelivering = false;
      advanceAgain();
    });
  }
}

function removeWhere<T>(list: T[], matches: (item: T) => boolean): void {
  for (let index = list.length - 1; index >= 0; index--) if (matches(list[index] as T)) list.splice(index, 1);
}

function isAnswered({ status }: RunEntry): boolean {
  return status === 'done' || status === 'failed';
}
