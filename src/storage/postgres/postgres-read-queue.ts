import { strict as assert } from 'node:assert';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PostgresAddress } from '../../base/address/postgres-address.js';
import { Deferred } from '../../base/deferred.js';
import type { ReadTx } from '../../base/store.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';
import { Fifo } from '../units/fifo.js';
import type { RowStatements } from '../working-set/row-statements.js';
import type { TableDescription } from '../working-set/table-description.js';
import type { UnitAccess } from '../working-set/unit-access.js';
import type { MemoryReads } from './memory-reads.js';
import type { PostgresConnection } from './postgres-connection.js';
import { isRepeatable, isUnknownStatement, toStoreError } from './postgres-errors.js';
import { transactionSettings } from './transaction-settings.js';

const readersMax = 2;
const runsMax = 3;
const repeatMs = 5_000;
const pauseMs = 50;

const begin = { text: 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' };

/** A read unit: one committed state, in a transaction that begins with the first query. */
class PostgresReadUnit implements ReadTx, UnitAccess {
  readonly opaque = true;
  readonly workingSet = undefined;
  readonly committed = undefined;
  private hasBegun = false;

  constructor(
    private readonly connection: PostgresConnection,
    private readonly settings: { readonly text: string },
  ) {}

  statements<T>(build: (db: Db, connection: StatementConnection) => T): T {
    return this.connection.statements(build);
  }

  rowStatements(description: TableDescription): RowStatements {
    this.beforeQuery();
    return this.connection.rowStatements(description);
  }

  beforeQuery(): void {
    if (this.hasBegun) return;
    this.connection.push(begin);
    this.connection.push(this.settings);
    this.hasBegun = true;
  }

  beforeChange(): void {
    assert.fail('a read unit may not write');
  }

  afterWrite(): void {
    assert.fail('a read unit may not write');
  }

  /** Ends the transaction, if one has begun. Nobody waits for the answer. */
  end(): void {
    if (!this.hasBegun) return;
    this.connection.discard();
    this.connection.query({ text: 'COMMIT' }).then(
      () => this.connection.forgetError(),
      () => undefined,
    );
  }
}

/** Runs read units from memory where it knows everything, otherwise each on a connection of its own as long as it lasts. */
export class PostgresReadQueue {
  private readonly free: PostgresConnection[] = [];
  private readonly waiting = new Fifo<() => void>();
  private open = 0;
  /** Resolves when all units that were asked for have been answered. */
  private answered: Promise<void> = Promise.resolve();
  private readonly settings: { readonly text: string };

  constructor(
    private readonly address: PostgresAddress,
    private readonly connect: (until: number) => Promise<PostgresConnection>,
    private readonly memory: MemoryReads,
  ) {
    this.settings = { text: transactionSettings(address.schema, 'read', 'full') };
  }

  /** Units run beside each other, and are answered in the order in which they were asked, as by one connection. */
  async run<T>(work: (tx: ReadTx) => Promise<T>): Promise<T> {
    const { answered } = this;
    const own = new Deferred();
    this.answered = own.promise;
    try {
      const known = await this.memory.run(work);
      return known === undefined ? await this.runOnDatabase(work) : await known.answer;
    } finally {
      await answered;
      own.resolve();
    }
  }

  /** Runs one statement in a transaction of its own: it names its schema. One that is lost with its connection is run again. */
  statement(text: string, values: readonly unknown[] = []): Promise<unknown[][]> {
    return this.inTurn(async (connection) => {
      try {
        return (await connection.query({ text }, values)).rows;
      } finally {
        if (!connection.isLost) connection.forgetError();
      }
    });
  }

  /** Resolves when nothing is queued or running. */
  async waitUntilIdle(): Promise<void> {
    await this.answered;
    while (this.open > 0) await new Promise((resolve) => setImmediate(resolve));
  }

  async close(): Promise<void> {
    await Promise.all(this.free.map(({ client }) => client.end().catch(() => undefined)));
  }

  private runOnDatabase<T>(work: (tx: ReadTx) => Promise<T>): Promise<T> {
    return this.inTurn((connection) => {
      const unit = new PostgresReadUnit(connection, this.settings);
      return work(unit).finally(() => unit.end());
    });
  }

  private async inTurn<T>(work: (connection: PostgresConnection) => Promise<T>): Promise<T> {
    if (this.open < readersMax) this.open++;
    else await new Promise<void>((resolve) => this.waiting.push(resolve));
    try {
      return await this.withConnection(work);
    } finally {
      const next = this.waiting.shift();
      if (next === undefined) this.open--;
      else next();
    }
  }

  private async withConnection<T>(work: (connection: PostgresConnection) => Promise<T>): Promise<T> {
    let until = performance.now() + repeatMs;
    for (let run = 1; ; run++) {
      let connection: PostgresConnection | undefined;
      try {
        connection = this.take() ?? (await this.connect(until));
        const answer = await work(connection);
        this.giveBack(connection);
        return answer;
      } catch (error) {
        const cause = connection?.error ?? error;
        const mayRepeat = isRepeatable(cause) || isUnknownStatement(cause);
        if (connection !== undefined && mayRepeat) void connection.client.end().catch(() => undefined);
        else if (connection !== undefined) this.giveBack(connection);
        // The connection may have been silent for long before it was lost: the time counts from then.
        if (run === 1 && connection !== undefined) until = performance.now() + repeatMs;
        if (!mayRepeat || run >= runsMax || performance.now() > until) throw toStoreError(cause, this.address);
      }
      await sleep(pauseMs * run);
    }
  }

  private take(): PostgresConnection | undefined {
    for (let found = this.free.pop(); found !== undefined; found = this.free.pop()) if (!found.isLost) return found;
    return undefined;
  }

  private giveBack(connection: PostgresConnection): void {
    if (!connection.isLost) this.free.push(connection);
  }
}
