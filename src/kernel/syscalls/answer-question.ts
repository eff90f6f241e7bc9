import { inject, injectable } from 'inversify';
import { z } from 'zod';
import type { QuestionId } from '../../base/ids.js';
import { canonicalJson, isLongerThan, type JsonValue, sha256Hex } from '../../base/json.js';
import { copyPlain, label, parseId, parseSpec, payloadLimits } from '../../base/spec.js';
import { Store } from '../../base/store.js';
import { type Call, hostCaller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { ProcessRepository } from '../process/process-repository.js';
import { AnswerChecks } from '../question/answer-checks.js';
import { statusOfQuestion } from '../question/question.js';
import { noSuchQuestion, questionNotPending } from '../question/question-errors.js';
import { QuestionRepository } from '../question/question-repository.js';
import { Waker } from '../waiting/waker.js';

const answerSpec = z.strictObject({
  answer: z.custom<JsonValue>((value) => value !== undefined, 'is missing'),
  by: label,
});

/** Of longer answers only the hash is recorded. */
const recordedAnswerMax = 4_096;

/** Stores the answer of a person to a question of a process. */
@injectable()
export class AnswerQuestion {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Units) private readonly units: Units,
    @inject(QuestionRepository) private readonly questions: QuestionRepository,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(AnswerChecks) private readonly checks: AnswerChecks,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
    @inject(Waker) private readonly waker: Waker,
  ) {}

  /** Throws NO_SUCH_QUESTION, CONFLICT for one that was answered or is closed, INVALID_INPUT. */
  async run(input: unknown, given: unknown): Promise<void> {
    const id = parseId(input, 'question');
    const { answer: raw, by } = parseSpec(answerSpec, given, 'answer');
    const answer = copyPlain(raw, 'answer.answer', payloadLimits);
    const asked = await this.store.read((tx) => this.questions.find(tx, id));
    // The schema and the choices of a question do not change: the unit checks the rest.
    if (asked !== undefined && asked.answeredAt === null) await this.checks.check(asked, answer);
    const call: Call = { caller: hostCaller, actor: 'host', action: 'question.answer' };
    await this.units.commit(call, async (tx, act) => {
      const record = await this.questions.find(tx, id);
      if (record === undefined) throw noSuchQuestion(id);
      const status = statusOfQuestion(record, await this.processes.find(tx, record.pid), act.at);
      if (status !== 'pending') throw questionNotPending(id, status);
      await this.questions.answer(tx, id, { answer, answeredBy: by, answeredAt: act.at });
      this.recorder.record(tx, act, await this.lookup.get(tx, record.pid), {
        event: 'question.answered',
        data: { question: id },
        action: 'question.answer',
        facts: { question: id, answerHash: sha256Hex(canonicalJson(answer)) },
        payload: { by, ...recordedAnswer(answer) },
        lineage: true,
      });
      await this.waker.wake(tx, act, record.pid, questionKey(id));
    });
  }
}

/** The change that wakes a process which waits for the answer. */
export function questionKey(id: QuestionId): string {
  return `question:${id}`;
}

function recordedAnswer(answer: JsonValue): { answer?: JsonValue } {
  return isLongerThan(answer, recordedAnswerMax) ? {} : { answer };
}
