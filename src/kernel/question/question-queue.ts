import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { Clock, type KernelClock } from '../../base/clock.js';
import type { Pid, QuestionId } from '../../base/ids.js';
import type { JsonValue } from '../../base/json.js';
import { idText, isAbortSignal, parseId, parseSpec } from '../../base/spec.js';
import { type ReadTx, Store } from '../../base/store.js';
import { type Token, token } from '../../base/token.js';
import { EventBus } from '../../events/event-bus.js';
import { EventRepository } from '../../events/event-repository.js';
import { ProcessRepository } from '../process/process-repository.js';
import { AnswerQuestion } from '../syscalls/answer-question.js';
import { type QuestionRecord, type QuestionStatus, toQuestion, type UserQuestion } from './question.js';
import { noSuchQuestion } from './question-errors.js';
import { QuestionRepository } from './question-repository.js';

/** Selects questions. */
export interface QuestionFilter {
  /** Default `pending`. */
  readonly status?: QuestionStatus | 'any';
  /** The process that asks. */
  readonly pid?: Pid;
  /** Default 1,000. */
  readonly limit?: number;
}

/** The questions of processes to people, as the host sees them. */
export interface QuestionQueue {
  /** Oldest first. */
  list(filter?: QuestionFilter): Promise<UserQuestion[]>;
  /** Throws NO_SUCH_QUESTION. */
  get(id: QuestionId): Promise<UserQuestion>;
  /** Those that are pending, then each that is asked, on any node, until `signal` aborts or the kernel is shut down. */
  stream(options?: { readonly signal?: AbortSignal }): AsyncIterable<UserQuestion>;
  /**
   * Answers a question. Throws NO_SUCH_QUESTION, CONFLICT for one that was answered or is closed, INVALID_INPUT for an answer
   * that is not one of the choices or does not fit the schema; nothing is changed then.
   */
  answer(id: QuestionId, answer: { readonly answer: JsonValue; readonly by: string }): Promise<void>;
}
export const QuestionQueue: Token<QuestionQueue> = token('QuestionQueue');

const filterSpec = z.strictObject({
  status: z.enum(['pending', 'answered', 'closed', 'any']).default('pending'),
  pid: idText.optional(),
  limit: z.number().int().min(1).max(10_000).default(1_000),
});
const streamSpec = z.strictObject({
  signal: z.custom<AbortSignal>(isAbortSignal, 'is not an AbortSignal').optional(),
});
const pageRows = 100;

@injectable()
export class HostQuestionQueue implements QuestionQueue {
  constructor(
    @inject(Store) private readonly store: Store,
    @inject(Clock) private readonly clock: KernelClock,
    @inject(QuestionRepository) private readonly questions: QuestionRepository,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(EventBus) private readonly events: EventBus,
    @inject(EventRepository) private readonly log: EventRepository,
    @inject(AnswerQuestion) private readonly answering: AnswerQuestion,
  ) {}

  async list(filter: QuestionFilter = {}): Promise<UserQuestion[]> {
    const { status, pid, limit } = parseSpec(filterSpec, filter, 'filter');
    const scan = { open: status === 'pending', limit: pageRows, ...(pid === undefined ? {} : { pid }) };
    const found: UserQuestion[] = [];
    for (let after = '', more = true; more && found.length < limit; ) {
      const from = after;
      const page = await this.store.read(async (tx) => {
        const records = await this.questions.list(tx, { ...scan, after: from });
        return Promise.all(records.map((record) => this.toView(tx, record)));
      });
      found.push(...page.filter((question) => status === 'any' || question.status === status));
      after = page.at(-1)?.id ?? after;
      more = page.length === pageRows;
    }
    return found.slice(0, limit);
  }

  async get(input: QuestionId): Promise<UserQuestion> {
    const id = parseId(input, 'question');
    return this.store.read(async (tx) => {
      const record = await this.questions.find(tx, id);
      if (record === undefined) throw noSuchQuestion(id);
      return this.toView(tx, record);
    });
  }

  async *stream(options: { readonly signal?: AbortSignal } = {}): AsyncGenerator<UserQuestion> {
    const { signal } = parseSpec(streamSpec, options, 'options', isAbortSignal);
    const after = await this.store.read((tx) => this.log.head(tx));
    const known = new Set<QuestionId>();
    for (const question of await this.list({ limit: 10_000 })) {
      known.add(question.id);
      yield question;
    }
    const asked = { types: ['question.asked'], after, ...(signal === undefined ? {} : { signal }) } as const;
    for await (const { data } of this.events.stream(asked)) {
      const question = known.delete(data.question) ? undefined : await this.find(data.question);
      if (question?.status === 'pending') yield question;
    }
  }

  answer = async (id: QuestionId, answer: Parameters<QuestionQueue['answer']>[1]) => this.answering.run(id, answer);

  /** Undefined for one whose process was pruned meanwhile. */
  private find(id: QuestionId): Promise<UserQuestion | undefined> {
    return this.store.read(async (tx) => {
      const record = await this.questions.find(tx, id);
      return record === undefined ? undefined : this.toView(tx, record);
    });
  }

  private async toView(tx: ReadTx, record: QuestionRecord): Promise<UserQuestion> {
    return toQuestion(record, await this.processes.find(tx, record.pid), this.clock.peek());
  }
}
