import { inject, injectable } from 'inversify';
import { z } from 'zod';
import { IdSource, type Pid, type QuestionId } from '../../base/ids.js';
import type { JsonObject, JsonValue } from '../../base/json.js';
import { prepareSchema, takeSchema } from '../../base/schema/answer-schema.js';
import { jsonSchemaOf } from '../../base/schema/json-schema-of.js';
import { validate } from '../../base/schema/schema.js';
import type { Schema, StandardSchema } from '../../base/schema/schema-types.js';
import { label, storedText } from '../../base/spec.js';
import type { ReadTx, WriteTx } from '../../base/store.js';
import { MemoryCharges } from '../../memory/memory-charges.js';
import type { Act } from '../../unit/act.js';
import type { Call, Caller } from '../../unit/caller.js';
import { ChangeRecorder } from '../../unit/change-recorder.js';
import { Units } from '../../unit/units.js';
import type { ProcessRow } from '../process/process.js';
import { ProcessLookup } from '../process/process-lookup.js';
import { ProcessRepository } from '../process/process-repository.js';
import { AnswerChecks } from '../question/answer-checks.js';
import { type QuestionRecord, statusOfQuestion } from '../question/question.js';
import { tooManyQuestions } from '../question/question-errors.js';
import { QuestionRepository } from '../question/question-repository.js';
import { parse, parsePid, waitOptions } from '../specs.js';
import { InboxWait } from '../waiting/inbox-wait.js';
import { questionKey } from './answer-question.js';

/** The most questions of one process that wait for an answer at the same time. */
const pendingMax = 16;

const questionText = storedText.min(1).max(16_384);
const askOptions = waitOptions.omit({ keep: true }).extend({
  choices: z.array(z.custom<JsonValue>()).min(1).max(256).optional(),
  id: label.optional(),
  schema: z.undefined().optional(),
});
type ParsedOptions = z.output<typeof askOptions>;

/** Asks a person, and waits for the answer. */
@injectable()
export class Ask {
  constructor(
    @inject(Units) private readonly units: Units,
    @inject(IdSource) private readonly ids: IdSource,
    @inject(ProcessLookup) private readonly lookup: ProcessLookup,
    @inject(ProcessRepository) private readonly processes: ProcessRepository,
    @inject(QuestionRepository) private readonly questions: QuestionRepository,
    @inject(AnswerChecks) private readonly checks: AnswerChecks,
    @inject(InboxWait) private readonly inbox: InboxWait,
    @inject(MemoryCharges) private readonly charges: MemoryCharges,
    @inject(ChangeRecorder) private readonly recorder: ChangeRecorder,
  ) {}

  /**
   * The answer of a person, which is one of `choices` and the output of `schema`, where they are given. Throws WAIT_TIMEOUT,
   * CANCELLED, PROCESS_TERMINATED, TOO_MANY_QUESTIONS, BUDGET_EXCEEDED, INVALID_INPUT.
   */
  async run(caller: Caller, input: unknown, question: unknown, options: unknown = {}): Promise<unknown> {
    const { schema } = takeSchema(options);
    const answer = await this.askPlain(caller, input, question, options);
    return schema === undefined ? answer : validAnswer(schema, answer);
  }

  /**
   * The answer as it was given: a body journals it so, and validates it in every run. `key` stands for the id that the caller
   * did not give. Throws as `run`.
   */
  async askPlain(
    caller: Caller,
    input: unknown,
    question: unknown,
    options: unknown = {},
    key?: string,
  ): Promise<JsonValue> {
    const pid = parsePid(input);
    const { schema, others } = takeSchema(options);
    const text = parse(questionText, question, 'question');
    const parsed = parse(askOptions, others, 'options');
    if (schema !== undefined) await prepareSchema(schema);
    const jsonSchema = schema === undefined ? null : jsonSchemaOf((options as { schema: Schema }).schema);
    const call: Call = { caller, actor: pid, action: 'question.ask', target: pid, signal: parsed.signal };
    const asked = { text, schema: jsonSchema, key: parsed.id ?? key ?? null };
    let id: QuestionId = '';
    await this.units.commit(call, async (tx, act) => {
      id = await this.findOrAsk(tx, act, pid, asked, parsed);
    });
    using _schema = this.checks.use(id, schema);
    try {
      return await this.waitForAnswer(caller, pid, id, parsed);
    } catch (error) {
      if (asked.key === null && parsed.signal?.aborted === true) await this.withdraw(call, id);
      throw error;
    }
  }

  private waitForAnswer(
    caller: Caller,
    pid: Pid,
    id: QuestionId,
    { timeoutMs, signal }: ParsedOptions,
  ): Promise<JsonValue> {
    const findAnswer = async (tx: ReadTx) => {
      const record = await this.questions.find(tx, id);
      return record === undefined || record.answeredAt === null ? undefined : record.answer;
    };
    return this.inbox.takeNext<JsonValue>(
      caller,
      {
        pid,
        action: 'question.ask',
        reason: { kind: 'question', what: id, on: [questionKey(id)] },
        hasArrived: async (tx) => (await findAnswer(tx)) !== undefined,
        take: findAnswer,
        findCheck: async () => undefined,
      },
      { timeoutMs, signal },
    );
  }

  /** The question that the same call has asked already, unless that is closed, or a new one. */
  private async findOrAsk(
    tx: WriteTx,
    act: Act,
    pid: Pid,
    asked: AskedQuestion,
    { timeoutMs, choices: given }: ParsedOptions,
  ): Promise<QuestionId> {
    const choices = given ?? null;
    const row = await this.lookup.getLive(tx, pid);
    const own = (await this.questions.ofProcess(tx, row.n)).filter(({ generation }) => generation === row.generation);
    const isOpen = (record: QuestionRecord) => statusOfQuestion(record, row, act.at) === 'pending';
    const known = own.findLast(
      (record) => asked.key !== null && record.key === asked.key && (record.answeredAt !== null || isOpen(record)),
    );
    if (known !== undefined) return known.id;
    if (own.filter(isOpen).length >= pendingMax) throw tooManyQuestions(pid, pendingMax);
    const record: QuestionRecord = {
      id: this.ids.next('question'),
      pid,
      process: row.n,
      generation: row.generation,
      key: asked.key,
      question: asked.text,
      schema: asked.schema,
      choices,
      lineage: await this.lineageOf(tx, row),
      createdAt: act.at,
      expiresAt: timeoutMs === undefined ? null : act.at + timeoutMs,
      closedAt: null,
      answer: null,
      answeredBy: null,
      answeredAt: null,
    };
    await this.charges.chargeStored(tx, pid, Buffer.byteLength(JSON.stringify([asked.text, asked.schema, choices])));
    await this.questions.insert(tx, record);
    this.recorder.record(tx, act, row, {
      event: 'question.asked',
      data: { question: record.id },
      action: 'question.ask',
      facts: { question: record.id, choices: choices?.length ?? 0, hasSchema: asked.schema !== null },
      payload: { question: asked.text },
      lineage: true,
    });
    return record.id;
  }

  private async lineageOf(tx: ReadTx, row: ProcessRow): Promise<Pid[]> {
    const lineage: Pid[] = [];
    for (let above = row.parent; above !== null; ) {
      lineage.push(above);
      above = (await this.processes.find(tx, above))?.parent ?? null;
    }
    return lineage;
  }

  private async withdraw({ signal: _signal, ...call }: Call, id: QuestionId): Promise<void> {
    await this.units.commit({ ...call, action: 'question.close', kind: 'record' }, async (tx, act) => {
      const record = await this.questions.find(tx, id);
      const row = record === undefined ? undefined : await this.processes.find(tx, record.pid);
      if (record === undefined || row === undefined || statusOfQuestion(record, row, act.at) !== 'pending') return;
      await this.questions.close(tx, id, act.at);
      const data = { question: id };
      this.recorder.record(tx, act, row, { event: 'question.closed', data, action: 'question.close', facts: data });
    });
  }
}

interface AskedQuestion {
  readonly text: string;
  readonly schema: JsonObject | null;
  readonly key: string | null;
}

/** The output of the schema for an answer. Throws INVALID_INPUT. */
export function validAnswer(schema: StandardSchema, answer: JsonValue): Promise<unknown> {
  const hint = 'The question was answered. Handle the error, or ask again.';
  return validate(schema, structuredClone(answer), { path: 'answer', hint, facts: {} });
}
