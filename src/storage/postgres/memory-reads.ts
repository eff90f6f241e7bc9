import { Deferred } from '../../base/deferred.js';
import type { ReadTx } from '../../base/store.js';
import { MemoryReadUnit, OutdatedRead } from '../units/memory-read-unit.js';
import type { WorkingSet } from '../working-set/working-set.js';

/** A read that comes while a group is open goes to the database after this time, because another node may hold the lock for long. */
const groupWaitMs = 20;

export interface MemoryReadsOptions {
  /** The working set of the writer; undefined while there is no writer. */
  workingSet(): WorkingSet | undefined;
  /** Reads the version that the newest commit has made. */
  readVersion(): Promise<string>;
}

/** What a read unit has answered or thrown. */
interface Known<T> {
  readonly answer: Promise<T>;
}

/**
 * Answers read units from what the writer knows to be committed. A unit that comes while a group holds the lock is answered with
 * the state that the group leaves, which is newer than the question. Otherwise the number of the newest commit is asked for: when
 * it is the one that is known, nobody had committed anything else before the question. Units that come together ask once.
 */
export class MemoryReads {
  private asked: Promise<string> | undefined;
  private inFlight: Promise<unknown> = Promise.resolve();
  /** Present while units wait for the end of a group; resolves with false when it is not committed, or takes too long. */
  private groupEnd: Deferred<boolean> | undefined;

  /** Whether the end of the group is on its way to the server: another node may have committed before this one hears of it. */
  private isEnding = false;

  constructor(private readonly options: MemoryReadsOptions) {}

  /** Undefined where memory does not know enough, or is not that of the newest commit: the unit is to be run on the database. */
  async run<T>(work: (tx: ReadTx) => Promise<T>): Promise<Known<T> | undefined> {
    const workingSet = this.options.workingSet();
    if (workingSet === undefined) return undefined;
    if (workingSet.isInGroup) {
      const holdsLock = !this.isEnding;
      if (!(await this.untilGroupEnds()) || workingSet.isInGroup) return undefined;
      if (holdsLock) return answerFrom(workingSet, work);
    }
    const { knownVersion } = workingSet;
    const known = await answerFrom(workingSet, work);
    return known !== undefined && (await this.newestCommit()) === knownVersion ? known : undefined;
  }

  /** To be called before the end of a group is sent. */
  onGroupEnding(): void {
    this.isEnding = true;
  }

  /**
   * To be called when a group has ended, before the next one begins. One that was not committed may have lost its lock long
   * before: others may have committed since.
   */
  onGroupEnd(isCommitted: boolean): void {
    this.isEnding = false;
    this.groupEnd?.resolve(isCommitted);
    this.groupEnd = undefined;
  }

  private untilGroupEnds(): Promise<boolean> {
    if (this.groupEnd === undefined) {
      const groupEnd = new Deferred<boolean>();
      this.groupEnd = groupEnd;
      const timer = setTimeout(() => {
        if (this.groupEnd === groupEnd) this.groupEnd = undefined;
        groupEnd.resolve(false);
      }, groupWaitMs);
      void groupEnd.promise.then(() => clearTimeout(timer));
    }
    return this.groupEnd.promise;
  }

  /** The version of the database at some time after this call. Undefined where the database does not answer. */
  private newestCommit(): Promise<string | undefined> {
    this.asked ??= this.ask();
    return this.asked.catch(() => undefined);
  }

  private async ask(): Promise<string> {
    await this.inFlight;
    this.asked = undefined;
    const answer = this.options.readVersion();
    this.inFlight = answer.catch(() => undefined);
    return answer;
  }
}

/** What a unit answers or throws from memory; undefined where it needs more than memory knows. */
async function answerFrom<T>(workingSet: WorkingSet, work: (tx: ReadTx) => Promise<T>): Promise<Known<T> | undefined> {
  const answer = work(new MemoryReadUnit(workingSet));
  try {
    await answer;
  } catch (error) {
    if (error instanceof OutdatedRead) return undefined;
  }
  return { answer };
}
