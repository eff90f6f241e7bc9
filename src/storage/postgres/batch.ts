import type { Connection, Submittable } from 'pg';
import { RowDecoder, toParameter } from './values.js';

/** A statement that is prepared on a connection when it is sent for the first time. */
export interface PreparedText {
  /** Its name on the connection. */
  readonly name: string;
  readonly text: string;
  /** Whether the server has parsed it. */
  isParsed: boolean;
  /** Present once the server has described its answer. */
  decoder: RowDecoder | undefined;
}

/** The answer to one statement. */
export interface Answer {
  readonly names: readonly string[];
  readonly rows: unknown[][];
  /** The number of rows that were changed. */
  readonly changes: number;
  /** The command that was carried out: a COMMIT in a failed transaction answers `ROLLBACK`. */
  readonly tag: string;
}

/** One statement of a batch. */
export interface BatchItem {
  readonly statement: PreparedText;
  readonly values: readonly unknown[];
  /** False when nobody waits for its answer. */
  readonly isAwaited: boolean;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

const noNames: readonly string[] = [];

/** The messages that pg's types leave out, or type for an earlier protocol. */
interface Wire {
  parse(message: { name: string; text: string; types: number[] }): void;
  describe(message: { type: 'S'; name: string }): void;
  bind(message: { statement: string; values: (string | Buffer | null)[] }): void;
  execute(message: { portal: string; rows: number }): void;
  sync(): void;
  on(event: 'parseComplete', listener: () => void): void;
  off(event: 'parseComplete', listener: () => void): void;
  stream: { cork?(): void; uncork?(): void };
}

/**
 * Statements that are sent together and answered together: one round trip. When one fails, those after it are skipped, and are
 * rejected with the same error.
 */
export class Batch implements Submittable {
  private position = 0;
  private rows: unknown[][] = [];
  private decoder: RowDecoder | undefined;
  private wire: Wire | undefined;
  private isAnswered = false;
  /** The statements that the server has been asked to parse, in order. */
  private parsing: PreparedText[] = [];

  /** `onAnswered` is called once, when the batch was answered or the connection has ended. */
  constructor(
    private readonly items: readonly BatchItem[],
    private readonly onAnswered: () => void,
  ) {}

  submit(connection: Connection): void {
    const wire = connection as object as Wire;
    this.wire = wire;
    const described = new Set<PreparedText>();
    wire.stream.cork?.();
    for (const { statement, values } of this.items) {
      const { name, text } = statement;
      if (!statement.isParsed && !described.has(statement)) {
        wire.parse({ name, text, types: [] });
        wire.describe({ type: 'S', name });
        described.add(statement);
      }
      wire.bind({ statement: name, values: values.map(toParameter) });
      wire.execute({ portal: '', rows: 0 });
    }
    wire.sync();
    wire.stream.uncork?.();
    this.parsing = [...described];
    if (described.size > 0) wire.on('parseComplete', this.onParsed);
  }

  /** A statement that was parsed stays on the connection, also where carrying it out fails. */
  private readonly onParsed = () => {
    const statement = this.parsing.shift();
    if (statement !== undefined) statement.isParsed = true;
  };

  handleRowDescription({ fields }: { fields: { name: string; dataTypeID: number }[] }): void {
    const item = this.items[this.position];
    if (item !== undefined) item.statement.decoder = new RowDecoder(fields);
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    this.decoder ??= this.items[this.position]?.statement.decoder;
    this.rows.push(this.decoder === undefined ? fields : this.decoder.decode(fields));
  }

  handleCommandComplete({ text }: { text: string }): void {
    const item = this.items[this.position++];
    const { rows } = this;
    this.rows = [];
    this.decoder = undefined;
    if (item === undefined) return;
    const [tag = '', ...counts] = text.split(' ');
    const changes = Number(counts.at(-1) ?? 0);
    item.resolve({ names: item.statement.decoder?.names ?? noNames, rows, changes, tag });
  }

  handleEmptyQuery(): void {
    this.handleCommandComplete({ text: '' });
  }

  handlePortalSuspended(): void {
    // Statements are executed without a limit of rows.
  }

  handleError(error: unknown): void {
    for (const item of this.items.slice(this.position)) item.reject(error);
    this.position = this.items.length;
    this.wire?.off('parseComplete', this.onParsed);
    if (!this.isAnswered) this.onAnswered();
    this.isAnswered = true;
  }

  handleReadyForQuery(): void {
    this.handleError(new Error('the server ended a batch before it had answered it'));
  }
}
