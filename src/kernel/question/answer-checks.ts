import { injectable } from 'inversify';
import type { QuestionId } from '../../base/ids.js';
import { canonicalJson, type JsonValue } from '../../base/json.js';
import { toStandardSchema, validate } from '../../base/schema/schema.js';
import type { StandardSchema } from '../../base/schema/schema-types.js';
import type { QuestionRecord } from './question.js';
import { notAChoice } from './question-errors.js';

/**
 * Checks answers of people. While the call that asks waits in this program, by its own schema; otherwise by the JSON Schema
 * that is stored with the question.
 */
@injectable()
export class AnswerChecks {
  private readonly schemas = new Map<QuestionId, StandardSchema>();

  /** Has answers to the question checked by `schema`, until it is disposed. */
  use(question: QuestionId, schema: StandardSchema | undefined): Disposable {
    if (schema !== undefined) this.schemas.set(question, schema);
    return { [Symbol.dispose]: () => void this.schemas.delete(question) };
  }

  /** Runs code of the schema, so it is called outside of units. Throws INVALID_INPUT. */
  async check({ id, choices, schema }: QuestionRecord, answer: JsonValue): Promise<void> {
    const text = canonicalJson(answer);
    if (choices !== null && !choices.some((choice) => canonicalJson(choice) === text))
      throw notAChoice(id, choices.length);
    const known = this.schemas.get(id) ?? (schema === null ? undefined : toStandardSchema(schema, 'question.schema'));
    if (known === undefined) return;
    const hint = 'Give an answer that fits the schema of the question.';
    await validate(known, structuredClone(answer), { path: 'answer.answer', hint, facts: { question: id } });
  }
}
