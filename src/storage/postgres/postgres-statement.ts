import type { RawStatement } from '../statements/statement-connection.js';
import type { Answer } from './batch.js';
import type { StatementText } from './statement-text.js';
import { toObject } from './values.js';

/** The connection on which a statement is sent. */
interface SendingConnection {
  query(text: StatementText, values: readonly unknown[]): Promise<Answer>;
  push(text: StatementText, values: readonly unknown[]): void;
}

/** A statement that is sent to a PostgreSQL server. */
export class PostgresStatement<Values extends readonly unknown[], Row> implements RawStatement<Values, Row> {
  private form: 'objects' | 'arrays' | 'firstValues' = 'objects';

  constructor(
    private readonly connection: SendingConnection,
    private readonly text: StatementText,
  ) {}

  async get(...values: Values): Promise<Row | undefined> {
    return (await this.all(...values))[0];
  }

  async all(...values: Values): Promise<Row[]> {
    const { names, rows } = await this.connection.query(this.text, this.bind(values));
    if (this.form === 'arrays') return rows as Row[];
    if (this.form === 'firstValues') return rows.map(([first]) => first as Row);
    return rows.map((row) => toObject(names, row) as Row);
  }

  run(...values: Values): void {
    this.connection.push(this.text, this.bind(values));
  }

  pluck(): this {
    this.form = 'firstValues';
    return this;
  }

  raw(): this {
    this.form = 'arrays';
    return this;
  }

  /** The values by number: given by position, as one list, or by name as one object. */
  private bind(values: readonly unknown[]): readonly unknown[] {
    const [first] = values;
    const { names } = this.text;
    if (names !== undefined) return names.map((name) => (first as Readonly<Record<string, unknown>>)[name]);
    return values.length === 1 && Array.isArray(first) ? first : values;
  }
}
