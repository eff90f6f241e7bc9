import { inject, injectable } from 'inversify';
import { label, parseSpec } from '../../base/spec.js';
import { markKeyOf } from './call-tree.js';
import { ReplayJournal } from './replay-journal.js';
import type { Run } from './run.js';

/**
 * Marks in journals by which a changed body tells the processes that it began from those that an earlier one began. The
 * first call that is answered with true journals the mark, with its number among the calls of that name: a rerun answers
 * each of them as before.
 */
@injectable()
export class Patches {
  constructor(@inject(ReplayJournal) private readonly journal: ReplayJournal) {}

  /** Throws INVALID_INPUT. */
  async isPatched(run: Run, rawName: string): Promise<boolean> {
    const key = markKeyOf(parseSpec(label, rawName, 'name'));
    const call = run.beginMark(key);
    const { marks } = run.replay;
    const ordinal = marks.countCall(key);
    try {
      await run.admit(call);
      const since = marks.find(key);
      if (since !== undefined) {
        if (ordinal === since && run.replay.hasLeft(key)) await run.replayAnswer(call, async () => true);
        return ordinal >= since;
      }
      if (run.replay.firstUnclaimed !== undefined) return false;
      marks.add(key, ordinal);
      try {
        await this.journal.commit(run, call, 'call.end', (tx, act) =>
          this.journal.recordAnswer(tx, act, run, call, ordinal),
        );
      } catch (error) {
        marks.remove(key);
        throw error;
      }
      return true;
    } finally {
      run.finish(call);
    }
  }
}
