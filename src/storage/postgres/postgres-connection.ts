import { drizzle } from 'drizzle-orm/sqlite-proxy';
import type { Client } from 'pg';
import { type Dialect, postgresDialect } from '../statements/dialect.js';
import type { Db, RawStatement, StatementConnection } from '../statements/statement-connection.js';
import { RowStatements } from '../working-set/row-statements.js';
import { isStorable, notStorable } from '../working-set/storable.js';
import type { TableDescription } from '../working-set/table-description.js';
import { WorkingSet } from '../working-set/working-set.js';
import { type Answer, Batch, type BatchItem, type PreparedText } from './batch.js';
import { mergeInserts } from './merged-inserts.js';
import { PostgresStatement } from './postgres-statement.js';
import { SilenceGuard } from './silence-guard.js';
import { numberPlaceholders, type StatementText } from './statement-text.js';

/** One connection with the statements that are prepared on it. What is pushed is sent with the next query, in one batch. */
export class PostgresConnection implements StatementConnection {
  readonly dialect: Dialect = postgresDialect;
  readonly db: Db;
  /** The rows that units of this connection have read or changed. */
  readonly workingSet = new WorkingSet(this, true);
  /** The first error of a statement since the last `forgetError`: the transaction is lost with it. */
  error: unknown;
  /** Whether the server or the network has ended it. */
  isLost = false;
  private isHolding = false;
  /** Whether a batch is on its way: the driver takes one after another. */
  private isBusy = false;
  private hasEnded = false;
  private readonly prepared = new Map<unknown, unknown>();
  private readonly texts = new Map<string, PreparedText>();
  private readonly rowStatementsOf: RowStatements[] = [];
  private pending: BatchItem[] = [];
  private readonly silence: SilenceGuard;

  /**
   * `named`: false leaves no prepared statement on the server, for poolers that cannot keep them. `answerMs`: a server that does
   * not answer for so long is taken for lost.
   */
  constructor(
    readonly client: Client,
    private readonly named: boolean,
    answerMs: number,
  ) {
    this.silence = new SilenceGuard(client, answerMs);
    client.on('drain', () => this.sendNext());
    client.on('end', () => {
      // The driver refuses later batches at once.
      this.hasEnded = true;
      this.sendNext();
    });
    // drizzle builds the texts: both engines take the same but for what the dialect spells.
    this.db = drizzle(async (text, values, method) => {
      const { rows } = await this.query(numberPlaceholders(text), values);
      return { rows: method === 'get' ? (rows[0] as unknown[]) : rows };
    }) as object as Db;
  }

  /** The statements that `build` prepares, prepared once per connection. */
  statements<T>(build: (db: Db, connection: StatementConnection) => T): T {
    let statements = this.prepared.get(build) as T | undefined;
    if (statements === undefined) {
      statements = build(this.db, this);
      this.prepared.set(build, statements);
    }
    return statements;
  }

  prepare<Values extends readonly unknown[] = [], Row = unknown>(text: string): RawStatement<Values, Row> {
    return new PostgresStatement<Values, Row>(this, numberPlaceholders(text));
  }

  /** The statements that read and write whole rows of a table. */
  rowStatements(description: TableDescription): RowStatements {
    this.rowStatementsOf[description.number] ??= new RowStatements(this, description);
    return this.rowStatementsOf[description.number] as RowStatements;
  }

  /** Sends a statement, with everything that was pushed before it, and waits for the answer. */
  query({ text }: Pick<StatementText, 'text'>, values: readonly unknown[] = []): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.add(text, values, { resolve, reject });
      this.send();
    });
  }

  /** Adds a statement to the next batch. Nobody awaits its answer: its failure is kept in `error`. */
  push({ text }: Pick<StatementText, 'text'>, values: readonly unknown[] = []): void {
    this.add(text, values);
  }

  /** Sends the queries that `ask` begins together, in one batch. */
  together<T extends readonly unknown[]>(ask: () => T): Promise<{ -readonly [P in keyof T]: Awaited<T[P]> }> {
    this.isHolding = true;
    try {
      return Promise.all(ask());
    } finally {
      this.isHolding = false;
      this.send();
    }
  }

  private sendNext(): void {
    this.isBusy = false;
    this.send();
  }

  /** Sends what was pushed, or has it sent after the batch that is on its way. */
  private send(): void {
    if (this.isHolding || this.isBusy || this.pending.length === 0) return;
    this.isBusy = !this.hasEnded;
    const items = mergeInserts(this.pending, (text) => this.textOf(text));
    this.pending = [];
    this.silence.sent();
    this.client.query(new Batch(items, () => this.silence.answered()));
  }

  /** Drops what was pushed and not sent, of a transaction that is lost. */
  discard(): void {
    const lost = this.pending;
    this.pending = [];
    for (const item of lost) item.reject(this.error ?? new Error('the transaction was given up'));
  }

  private add(text: string, values: readonly unknown[], awaiting?: Pick<BatchItem, 'resolve' | 'reject'>): void {
    // The server would refuse the whole transaction.
    for (const value of values) if (!isStorable(value)) throw notStorable('a value of a statement');
    this.pending.push({
      statement: this.textOf(text),
      values,
      isAwaited: awaiting !== undefined,
      resolve: awaiting?.resolve ?? ignoreAnswer,
      reject: (error) => {
        this.error ??= error;
        awaiting?.reject(error);
      },
    });
  }

  forgetError(): void {
    this.error = undefined;
  }

  private textOf(text: string): PreparedText {
    if (!this.named) return { name: '', text, isParsed: false, decoder: undefined };
    let prepared = this.texts.get(text);
    if (prepared === undefined) {
      prepared = { name: `s${this.texts.size}`, text, isParsed: false, decoder: undefined };
      this.texts.set(text, prepared);
    }
    return prepared;
  }
}

const ignoreAnswer = () => undefined;
