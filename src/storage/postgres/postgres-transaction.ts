import type { PostgresConnection } from './postgres-connection.js';
import { notCommitted } from './postgres-errors.js';
import { transactionSettings } from './transaction-settings.js';

/** The row of `head` as a group finds it. */
export interface Head {
  readonly schema: number;
  /** The number of the newest commit. */
  readonly no: number;
  readonly writer: string;
  /** The newest time that anything was written at. */
  readonly at: number;
  readonly facts: string;
  /** The time of the server. */
  readonly now: number;
}

/** The state of the database after a commit: a number alone may be given twice when a failover has lost commits. */
export function versionOf({ no, writer }: Pick<Head, 'no' | 'writer'>): string {
  return `${no} ${writer}`;
}

const begin = { text: 'BEGIN' };
const commit = { text: 'COMMIT' };
const selectHead =
  'SELECT "schema", "no", "writer", "at", "facts", extract(epoch FROM clock_timestamp()) * 1000 AS "now" FROM "head"';
const lockHead = { text: `${selectHead} WHERE "only" = 1 FOR UPDATE` };
const updateHead = {
  text: 'UPDATE "head" SET "no" = $1, "writer" = $2, "at" = greatest("at", $3), "facts" = $4 WHERE "only" = 1',
};
const updateWriter = {
  text: 'INSERT INTO "writers" ("id", "no") VALUES ($1, $2) ON CONFLICT ("id") DO UPDATE SET "no" = excluded."no"',
};
const findWriter = { text: 'SELECT "no" FROM "writers" WHERE "id" = $1' };
const removeWriter = { text: 'DELETE FROM "writers" WHERE "id" = $1' };

/** The transactions of one store: they begin with the lock on `head`, and end with the number of their commit in it. */
export class PostgresTransactions {
  private readonly settings: { readonly text: string };

  constructor(
    readonly writer: string,
    schema: string,
    durability: 'full' | 'normal',
  ) {
    this.settings = { text: transactionSettings(schema, 'write', durability) };
  }

  /** Begins a transaction and waits for its turn: from then on nobody else writes until it ends. One round trip. */
  async begin(connection: PostgresConnection): Promise<Head> {
    connection.forgetError();
    connection.push(begin);
    connection.push(this.settings);
    const { rows } = await connection.query(lockHead);
    const [schema, no, writer, at, facts, now] = rows[0] as [number, number, string, number, string, number];
    return { schema, no, writer, at, facts, now };
  }

  /** Ends it, with everything that was pushed. The answer tells whether it was committed: a failed one answers otherwise. */
  async commit(connection: PostgresConnection, { no, at, facts }: Pick<Head, 'no' | 'at' | 'facts'>): Promise<void> {
    connection.push(updateHead, [no, this.writer, at, facts]);
    connection.push(updateWriter, [this.writer, no]);
    await this.end(connection);
  }

  /** Ends a transaction that has changed nothing. */
  async end(connection: PostgresConnection): Promise<void> {
    const { tag } = await connection.query(commit);
    if (tag !== 'COMMIT') throw connection.error ?? notCommitted(tag);
  }

  /** Whether the commit with this number was carried out. The transaction that may have made it has ended when this answers. */
  async hasCommitted(connection: PostgresConnection, no: number): Promise<boolean> {
    await this.begin(connection);
    const { rows } = await connection.query(findWriter, [this.writer]);
    await this.end(connection);
    return Number(rows[0]?.[0] ?? 0) >= no;
  }

  /** Forgets that this store has written: it is closed. */
  async leave(connection: PostgresConnection): Promise<void> {
    await this.begin(connection);
    connection.push(removeWriter, [this.writer]);
    await this.end(connection);
  }
}
