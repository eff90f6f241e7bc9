import { injectable } from 'inversify';
import type { Channel, WriteTx } from '../../base/store.js';
import type { RunEntry } from '../../kernel/process/run-entry-repository.js';
import type { Replay } from './replay.js';

interface Answer {
  readonly replay: Replay;
  readonly entry: RunEntry;
}

/** Adds answers to the journals of their runs once they are committed: those of a unit that was undone never were. */
@injectable()
export class CommittedAnswers implements Channel<Answer, readonly Answer[]> {
  /** To be called in the unit that writes the answer. */
  add(tx: WriteTx, replay: Replay, entry: RunEntry): void {
    if (replay.keeps(entry)) tx.defer(this, { replay, entry });
  }

  async seal(_tx: WriteTx, answers: readonly Answer[]): Promise<readonly Answer[]> {
    return answers;
  }

  committed(answers: readonly Answer[]): void {
    for (const { replay, entry } of answers) replay.addAnswer(entry);
  }
}
