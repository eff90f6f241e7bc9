import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { factsOf, type PostgresAddress } from '../../base/address/postgres-address.js';
import type { KernelClock } from '../../base/clock.js';
import { type KernelError, StoreError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import { Listeners } from '../../base/listeners.js';
import type { Logger } from '../../base/logger.js';
import type { ReadTx, Store, WriteTx } from '../../base/store.js';
import { storeClosed } from '../units/store-closed.js';
import { connect } from './connect.js';
import type { DatabaseClock } from './database-clock.js';
import { HeadWatch } from './head-watch.js';
import { LockWatch } from './lock-watch.js';
import { MemoryReads } from './memory-reads.js';
import { assertReadable, migrate, newerSchema } from './migrate.js';
import { PostgresConnection } from './postgres-connection.js';
import { isConnectionError, toStoreError } from './postgres-errors.js';
import { PostgresReadQueue } from './postgres-read-queue.js';
import { type Head, PostgresTransactions } from './postgres-transaction.js';
import { PostgresWriteQueue } from './postgres-write-queue.js';
import { VacuumWatch } from './vacuum-watch.js';

export interface PostgresOptions {
  readonly address: PostgresAddress;
  readonly durability: 'full' | 'normal';
  readonly readOnly: boolean;
  readonly pollMs: number;
  /** Tells this store from the others that write to the database. */
  readonly writer: string;
  readonly clock: KernelClock;
  /** Follows the time of the server; absent where the kernel has a clock of its own. */
  readonly databaseClock: DatabaseClock | undefined;
  /** A server that does not answer for so long is taken for lost; default 40 seconds, more than it may take for a statement. */
  readonly answerMs?: number;
}

const answerMsDefault = 40_000;

/** What nobody has asked for in this time is forgotten, at the latest after twice as long. */
const agingMs = 1_000;
const reconnectMs = 100;

/** The store in one schema of a PostgreSQL database, which any number of kernels on any number of machines share. */
export class PostgresStore implements Store {
  private writer: PostgresConnection | undefined;
  private writes: PostgresWriteQueue | undefined;
  private reads: PostgresReadQueue | undefined;
  private watch: HeadWatch | undefined;
  private vacuumWatch: VacuumWatch | undefined;
  /** The error of every call since a newer release has changed the tables. */
  private outdated: KernelError | undefined;
  private aging: NodeJS.Timeout | undefined;
  private closing: Promise<void> | undefined;
  private readonly transactions: PostgresTransactions;
  private readonly listeners = new Listeners<[hasLostCommits: boolean]>();

  constructor(
    private readonly options: PostgresOptions,
    private readonly logger: Logger,
  ) {
    this.transactions = new PostgresTransactions(options.writer, options.address.schema, options.durability);
  }

  /** Creates or migrates the tables. Throws STORE_*, SCHEMA_NEWER, MISSING_PACKAGE. */
  async open(): Promise<void> {
    const { address, readOnly } = this.options;
    try {
      const client = await connect(address, 'setup', () => undefined);
      try {
        await (readOnly ? assertReadable(client, address) : migrate(client, address));
        await this.readTime(client);
      } finally {
        await client.end();
      }
      this.start();
      await this.watch?.start();
      await this.vacuumWatch?.start();
    } catch (error) {
      await this.close();
      throw toStoreError(error, address);
    }
  }

  write<T>(work: (tx: WriteTx) => Promise<T>, about: readonly Pid[] = []): Promise<T> {
    if (this.outdated !== undefined) return Promise.reject(this.outdated);
    if (this.reads === undefined) return Promise.reject(storeClosed());
    if (this.writes === undefined) return Promise.reject(readOnly(this.options.address));
    return this.writes.run(work, about);
  }

  read<T>(work: (tx: ReadTx) => Promise<T>): Promise<T> {
    if (this.outdated !== undefined) return Promise.reject(this.outdated);
    return this.reads === undefined ? Promise.reject(storeClosed()) : this.reads.run(work);
  }

  onForeignCommit(listener: (hasLostCommits: boolean) => void): Disposable {
    return this.listeners.add(listener);
  }

  /** Waits for the units that were accepted, then closes the connections. A second call waits for the first. */
  close(): Promise<void> {
    this.closing ??= this.shutDown();
    return this.closing;
  }

  /** Nothing is done by the clock of this machine, which may be wrong. */
  private async readTime(client: Client): Promise<void> {
    const { databaseClock } = this.options;
    if (databaseClock === undefined) return;
    const { rows } = await client.query<{ now: string }>('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now');
    databaseClock.observe(Number(rows[0]?.now));
  }

  private start(): void {
    const { address } = this.options;
    const memory: MemoryReads = new MemoryReads({
      workingSet: () => (this.writer?.isLost === false ? this.writer.workingSet : undefined),
      readVersion: async () => (await watch.readHead()).version,
    });
    const reads: PostgresReadQueue = new PostgresReadQueue(address, (until) => this.connect('reader', until), memory);
    const watch: HeadWatch = new HeadWatch(
      { ...this.options, reads, logger: this.logger },
      (hasLostCommits) => this.listeners.notify(hasLostCommits),
      (schema) => this.checkSchema(schema),
    );
    this.reads = reads;
    this.watch = watch;
    if (this.options.readOnly) return;
    this.vacuumWatch = new VacuumWatch(reads, this.logger);
    this.writes = new PostgresWriteQueue({
      address,
      transactions: this.transactions,
      lockWatch: new LockWatch(reads, this.logger),
      connection: (until) => this.writerConnection(until),
      disconnect: (connection) => this.disconnect(connection),
      onHead: (head) => this.onHead(head),
      newestTime: () => this.options.clock.peek(),
      onCommit: (no) => watch.committed(no),
      onGroupEnding: () => memory.onGroupEnding(),
      onGroupEnd: (isCommitted) => memory.onGroupEnd(isCommitted),
    });
    this.aging = setInterval(() => this.writer?.workingSet.age(), agingMs).unref();
  }

  private async shutDown(): Promise<void> {
    const { writes, reads } = this;
    this.writes = undefined;
    this.reads = undefined;
    clearInterval(this.aging);
    this.vacuumWatch?.close();
    await this.watch?.close();
    await writes?.waitUntilIdle();
    await reads?.waitUntilIdle();
    const { writer } = this;
    if (writer !== undefined && !writer.isLost) {
      // A row that stays is of no use to anybody, and in nobody's way; the store closes all the same.
      if (this.outdated === undefined) await this.transactions.leave(writer).catch(() => undefined);
      await writer.client.end().catch(() => undefined);
    }
    await reads?.close();
  }

  /** A group has the lock: time goes on from what others have written, and a newer release may have changed the tables. */
  private onHead({ schema, at, no, now }: Head): void {
    this.options.databaseClock?.observe(now);
    this.options.clock.notBefore(at);
    this.watch?.seen(no);
    this.checkSchema(schema);
    if (this.outdated !== undefined) throw this.outdated;
  }

  /** A newer release may have changed anything: from then on nothing is read or written. */
  private checkSchema(schema: number): void {
    if (this.outdated !== undefined) return;
    this.outdated = newerSchema(schema, this.options.address);
    if (this.outdated === undefined) return;
    this.logger.error(this.outdated.facts, 'a newer release has changed the database: this kernel stops using it');
  }

  private async writerConnection(until: number): Promise<PostgresConnection> {
    if (this.writer !== undefined && !this.writer.isLost) return this.writer;
    this.writer = await this.connect('writer', until);
    return this.writer;
  }

  private disconnect(connection: PostgresConnection): void {
    connection.isLost = true;
    void connection.client.end().catch(() => undefined);
  }

  /** Connects, and tries again until the time where the server is not there, or not yet. */
  private async connect(role: 'writer' | 'reader', until: number): Promise<PostgresConnection> {
    const { address, answerMs = answerMsDefault } = this.options;
    for (;;) {
      try {
        let connection: PostgresConnection | undefined;
        const client = await connect(address, role, (error) => {
          if (connection === undefined) return;
          connection.isLost = true;
          connection.error ??= error;
        });
        connection = new PostgresConnection(client, address.prepare, answerMs);
        return connection;
      } catch (error) {
        if (!isConnectionError(error) || performance.now() > until) throw error;
      }
      await sleep(reconnectMs);
    }
  }
}

function readOnly(address: PostgresAddress): StoreError {
  return new StoreError('STORE_READONLY', 'The kernel was opened with { readOnly: true }.', {
    facts: factsOf(address),
    hint: 'Open it without readOnly to change anything.',
  });
}
