import type pg from 'pg';
import { gate } from '../gate.js';
import { clientOf, connectPlain } from '../postgres-databases.js';
import { defaultSchema } from '../postgres-template.js';
import type { RawConnection, RawRow, RawStatement } from './raw-connection.js';

export function isPostgres(store: string): boolean {
  return /^postgres(ql)?:/.test(store);
}

/** Tables whose newest number is kept in `head`, so that no number is given twice. */
const numberedTables = ['processes', 'views', 'view_entries', 'messages', 'object_versions'];

/** What is under way on a connection that several share. */
interface Use {
  /** Settles when the transaction before has ended. */
  turn: Promise<unknown>;
  /** Whether the write lock is held: what is changed meanwhile belongs to that transaction. */
  isLocked: boolean;
}

const lockHead = 'SELECT facts FROM head WHERE "only" = 1 FOR UPDATE';

const uses = new WeakMap<pg.Client, Use>();

/**
 * A connection to one schema. A test's database has one for all that look at it, which stays open. Whoever changes something
 * holds the lock of the store, and tells by the number of the commit that what others have in memory is out of date.
 */
export class PostgresRawConnection implements RawConnection {
  private orders: ReadonlyMap<string, string> | undefined;

  private constructor(
    private readonly client: pg.Client,
    private readonly schema: string,
    private readonly isShared: boolean,
  ) {}

  static async open(store: string): Promise<PostgresRawConnection> {
    const url = new URL(store);
    const schema = url.searchParams.get('schema') ?? defaultSchema;
    for (const name of ['schema', 'prepare', 'listen']) url.searchParams.delete(name);
    const shared = clientOf(store);
    const client = shared ?? (await connectPlain(url.href));
    await client.query(`SET search_path TO "${schema}"`);
    return new PostgresRawConnection(client, schema, shared !== undefined);
  }

  async run(statements: readonly RawStatement[]): Promise<RawRow[][]> {
    const isChange = statements.some(([text]) => /^\s*(INSERT|UPDATE|DELETE)\b/i.test(text));
    if (!isChange) return this.runAll(statements);
    if (this.use.isLocked) return this.change(statements);
    return this.inTransaction('BEGIN', () => this.change(statements));
  }

  async orderOf(table: string): Promise<string> {
    this.orders ??= await this.loadOrders();
    return this.orders.get(table) ?? '1';
  }

  snapshot<T>(read: () => Promise<T>): Promise<T> {
    return this.inTransaction('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', read);
  }

  async lock(): Promise<AsyncDisposable> {
    const [held, end] = [gate(), gate()];
    const transaction = this.inTransaction('BEGIN', async () => {
      await this.client.query(lockHead);
      this.use.isLocked = true;
      held.open();
      await end.opened;
      this.use.isLocked = false;
    });
    await Promise.race([held.opened, transaction]);
    return {
      [Symbol.asyncDispose]: () => {
        end.open();
        return transaction;
      },
    };
  }

  async refuse(change: 'INSERT' | 'UPDATE', table: string): Promise<AsyncDisposable> {
    // As a constraint would: the fault is one of the row, not of the server.
    await this.client.query(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = 'check_violation'; END $$;
      CREATE TRIGGER refused BEFORE ${change} ON ${table} FOR EACH ROW EXECUTE FUNCTION refuse()`);
    return { [Symbol.asyncDispose]: async () => void (await this.client.query('DROP FUNCTION refuse CASCADE')) };
  }

  async close(): Promise<void> {
    if (!this.isShared) await this.client.end();
  }

  private get use(): Use {
    const use = uses.get(this.client) ?? { turn: Promise.resolve(), isLocked: false };
    uses.set(this.client, use);
    return use;
  }

  private async inTransaction<T>(begin: string, work: () => Promise<T>): Promise<T> {
    const { use } = this;
    const run = use.turn.then(async () => {
      await this.client.query(begin);
      try {
        const answer = await work();
        await this.client.query('COMMIT');
        return answer;
      } catch (error) {
        await this.client.query('ROLLBACK');
        throw error;
      }
    });
    use.turn = run.catch(() => undefined);
    return run;
  }

  private async change(statements: readonly RawStatement[]): Promise<RawRow[][]> {
    const [head] = (await this.client.query<{ facts: string }>(lockHead)).rows;
    const answers = await this.runAll(statements);
    await this.client.query(`UPDATE head SET no = no + 1, writer = 'another program', facts = $1`, [
      await this.factsAfter(JSON.parse(head?.facts ?? '{}')),
    ]);
    return answers;
  }

  /** Only the highest numbers stay known: of rows that are gone, nothing else tells. */
  private async factsAfter(facts: Record<string, unknown>): Promise<string> {
    const columns = numberedTables.map((table) => `(SELECT coalesce(max(n), 0) FROM ${table}) AS ${table}`);
    const [found] = (await this.client.query<Record<string, number>>(`SELECT ${columns}`)).rows;
    const kept = numberedTables.flatMap((table) => {
      const name = `highest number of ${table}`;
      const known = facts[name];
      return typeof known === 'number' ? [[name, Math.max(known, found?.[table] ?? 0)]] : [];
    });
    return JSON.stringify(Object.fromEntries(kept));
  }

  private async runAll(statements: readonly RawStatement[]): Promise<RawRow[][]> {
    const answers: RawRow[][] = [];
    for (const [text, ...values] of statements) {
      answers.push((await this.client.query<RawRow>({ text: numberPlaceholders(text), values })).rows);
    }
    return answers;
  }

  private async loadOrders(): Promise<ReadonlyMap<string, string>> {
    const { rows } = await this.client.query<{ table: string; column: string }>(
      `SELECT table_name AS "table", column_name AS "column" FROM information_schema.columns
       WHERE table_schema = $1 AND column_name IN ('n', 'seq', 'rowid') ORDER BY array_position('{rowid,seq,n}', column_name::text)`,
      [this.schema],
    );
    // Of several columns the last one stays.
    return new Map(rows.map(({ table, column }) => [table, column]));
  }
}

/** Writes `$1`, `$2` … for the `?` outside of quotes. */
function numberPlaceholders(text: string): string {
  let number = 0;
  return text.replace(/'[^']*'|"[^"]*"|\?/g, (found) => (found === '?' ? `$${++number}` : found));
}
