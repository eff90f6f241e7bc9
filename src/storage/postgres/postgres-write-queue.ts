import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { factsOf, type PostgresAddress } from '../../base/address/postgres-address.js';
import { type KernelError, StoreError } from '../../base/errors.js';
import type { Pid } from '../../base/ids.js';
import type { WriteTx } from '../../base/store.js';
import { Fifo } from '../units/fifo.js';
import { type GroupTransaction, groupMs, groupUnitsMax, type QueuedUnit, UnitGroup } from '../units/unit-group.js';
import type { LockWatch } from './lock-watch.js';
import type { PostgresConnection } from './postgres-connection.js';
import {
  isConnectionError,
  isFaultOfUnit,
  isRepeatable,
  isUnknownStatement,
  needsNewConnection,
  toStoreError,
} from './postgres-errors.js';
import { type Head, type PostgresTransactions, versionOf } from './postgres-transaction.js';
import { Prefetch } from './prefetch.js';

/** A group whose transaction was lost is run again so often, and so long, before its units are refused. */
const runsMax = 3;
const repeatMs = 5_000;
const pauseMs = 50;

interface Unit extends QueuedUnit {
  readonly about: readonly Pid[];
}

export interface WriteQueueOptions {
  readonly address: PostgresAddress;
  readonly transactions: PostgresTransactions;
  readonly lockWatch: LockWatch;
  /** The open connection of the writer, or a new one; tries to connect until the time, which is of the monotonic clock. */
  connection(until: number): Promise<PostgresConnection>;
  /** Closes it, so that the next group gets a new one. */
  disconnect(connection: PostgresConnection): void;
  /** Called with `head` as soon as a group has the lock. Throws to refuse the group. */
  onHead(head: Head): void;
  /** The newest time that the units of this store have written. */
  newestTime(): number;
  /** Called after a commit. */
  onCommit(no: number): void;
  /** Called before the end of a transaction is sent: from then on the lock may be another's. */
  onGroupEnding(): void;
  /** Called when a group has ended in any way, before the next one begins. */
  onGroupEnd(isCommitted: boolean): void;
}

/** How the transaction of a group has ended. */
interface GroupEnd {
  /** The error by which it was lost; undefined when its callers have been answered. */
  readonly error: unknown;
  /** Whether it had the lock. */
  readonly hasBegun: boolean;
}

/** The commit of a group whose answer was lost. */
interface UnknownCommit {
  readonly no: number;
  readonly group: UnitGroup;
}

/**
 * Group commit. Units that wait together run in one transaction that holds the lock on `head`, strictly one after another; their
 * promises settle after the COMMIT. A group whose transaction is lost is run again.
 */
export class PostgresWriteQueue {
  private readonly waiting = new Fifo<Unit>();
  private draining = false;
  private unknown: UnknownCommit | undefined;
  /** Whether nobody else had committed when the last group began. */
  private isAlone = false;

  constructor(private readonly options: WriteQueueOptions) {}

  run<T>(work: (tx: WriteTx) => Promise<T>, about: readonly Pid[] = []): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.waiting.push({ work, about, mode: 'unit', resolve: resolve as (value: unknown) => void, reject });
      if (this.draining) return;
      this.draining = true;
      setImmediate(() => void this.drain());
    });
  }

  /** Resolves when nothing is queued or running. */
  async waitUntilIdle(): Promise<void> {
    while (this.draining) await nextTurn();
  }

  private async drain(): Promise<void> {
    while (this.waiting.length > 0) {
      const units: Unit[] = [];
      for (let unit = this.waiting.shift(); unit !== undefined; unit = this.waiting.shift()) {
        if (units.push(unit) === groupUnitsMax) break;
      }
      await this.runUnits(units);
      await nextTurn();
    }
    this.draining = false;
  }

  /**
   * Runs units as one group, again where the transaction is lost, or one by one where the values of one were refused. Units that
   * come meanwhile join the group, unless it `isClosed`.
   */
  private async runUnits(units: Unit[], isClosed = false): Promise<void> {
    let until = performance.now() + repeatMs;
    for (let run = 1; ; run++) {
      const { error, hasBegun } = await this.runGroup(units, until, isClosed);
      if (error === undefined) return;
      if (isFaultOfUnit(error) && units.length > 1) {
        for (const unit of units) await this.runUnits([unit], true);
        return;
      }
      // A program that has stood still may notice late that it has lost its transaction: the time counts from then.
      if (run === 1 && hasBegun) until = performance.now() + repeatMs;
      const mayRepeat = isRepeatable(error) || isUnknownStatement(error);
      if (!mayRepeat || run >= runsMax || performance.now() > until) {
        this.refuse(units, toStoreError(error, this.options.address));
        return;
      }
      await sleep(pauseMs * run);
    }
  }

  /** Runs a group up to its end. */
  private async runGroup(units: Unit[], until: number, isClosed: boolean): Promise<GroupEnd> {
    let connection: PostgresConnection | undefined;
    let group: UnitGroup | undefined;
    let no = 0;
    let isCommitSent = false;
    try {
      connection = await this.options.connection(until);
      await this.settleUnknown(connection);
      const head = await this.begin(connection, units);
      no = head.no + 1;
      group = new UnitGroup(
        connection,
        this.transactionOf(connection, head, () => (isCommitSent = true)),
      );
      await this.runInGroup(group, units, isClosed);
      await group.commit();
      this.options.onGroupEnd(true);
      if (group.hasWritten) this.options.onCommit(no);
    } catch (error) {
      const cause = connection?.error ?? error;
      const isLost = connection === undefined || connection.isLost || isConnectionError(cause);
      if (connection !== undefined) await this.abandon(connection, isLost || needsNewConnection(cause));
      const hasBegun = group !== undefined;
      if (group === undefined || !isCommitSent || !isLost) return { error: cause, hasBegun };
      return { error: await this.settleLostCommit({ no, group }, units), hasBegun };
    }
    await group.settle();
    return { error: undefined, hasBegun: true };
  }

  private async begin(connection: PostgresConnection, units: readonly Unit[]): Promise<Head> {
    const { transactions, lockWatch, onHead } = this.options;
    const about = units.flatMap((unit) => unit.about);
    const wasAlone = this.isAlone;
    const fetch = new Prefetch(connection, about, !wasAlone);
    lockWatch.waits(connection.client);
    const [head, found] = await connection
      .together(() => [transactions.begin(connection), fetch.ask()] as const)
      .finally(() => lockWatch.stops(connection.error));
    onHead(head);
    this.isAlone = connection.workingSet.beginGroup(versionOf(head));
    connection.workingSet.importFacts(head.facts);
    if (wasAlone && !this.isAlone) await this.fetchAgain(connection, about);
    else await fetch.learn(found);
    return head;
  }

  /** Reads what was known before others have committed. */
  private async fetchAgain(connection: PostgresConnection, about: readonly Pid[]): Promise<void> {
    const fetch = new Prefetch(connection, about, true);
    const [found] = await connection.together(() => [fetch.ask()] as const);
    await fetch.learn(found);
  }

  private async runInGroup(group: UnitGroup, units: Unit[], isClosed: boolean): Promise<void> {
    const until = performance.now() + groupMs;
    for (const unit of units) {
      if (!group.isIntact) break;
      await group.run(unit);
    }
    while (!isClosed && group.isIntact && units.length < groupUnitsMax && performance.now() < until) {
      const next = this.waiting.shift();
      if (next === undefined) break;
      units.push(next);
      await group.run(next);
    }
  }

  private transactionOf(connection: PostgresConnection, head: Head, onCommitSent: () => void): GroupTransaction {
    const { transactions, address, newestTime } = this.options;
    return {
      isIntact: () => connection.error === undefined && !connection.isLost,
      commit: async (hasWritten) => {
        if (connection.error !== undefined) throw connection.error;
        this.options.onGroupEnding();
        if (!hasWritten) {
          await transactions.end(connection);
          return versionOf(head);
        }
        onCommitSent();
        const no = head.no + 1;
        const facts = connection.workingSet.exportFacts();
        await transactions.commit(connection, { no, at: newestTime(), facts });
        return versionOf({ no, writer: transactions.writer });
      },
      rollback: () => undefined,
      toKernelError: (error) => toStoreError(error, address),
    };
  }

  /** Ends the transaction of a group that is lost, and forgets what it has made of the working set. */
  private async abandon(connection: PostgresConnection, isLost: boolean): Promise<void> {
    connection.discard();
    connection.workingSet.abandonGroup();
    this.options.onGroupEnd(false);
    if (isLost) return this.options.disconnect(connection);
    try {
      await connection.query({ text: 'ROLLBACK' });
      connection.forgetError();
    } catch {
      // The server ends the transaction with the connection.
      this.options.disconnect(connection);
    }
  }

  /** After a COMMIT without an answer: finds out whether it was carried out, for so long as callers may wait. */
  private async settleLostCommit(lost: UnknownCommit, units: Unit[]): Promise<unknown> {
    const until = performance.now() + repeatMs;
    for (let attempt = 1; performance.now() < until; attempt++) {
      let connection: PostgresConnection | undefined;
      try {
        connection = await this.options.connection(until);
        if (!(await this.options.transactions.hasCommitted(connection, lost.no))) {
          return new Error('Connection terminated before the commit');
        }
        connection.workingSet.forget();
        this.options.onCommit(lost.no);
        await lost.group.settle();
        return undefined;
      } catch {
        // The server is not there, or the lock is not free, as while the lost transaction has not ended: it is asked again.
        if (connection !== undefined) await this.abandon(connection, true);
        await sleep(Math.min(pauseMs * attempt, 500));
      }
    }
    this.unknown = lost;
    const { address } = this.options;
    this.refuse(units, outcomeUnknown(address));
    return undefined;
  }

  /** Before the next group: what became of a commit that nobody could tell of. Its channels are told; its callers were. */
  private async settleUnknown(connection: PostgresConnection): Promise<void> {
    const { unknown } = this;
    if (unknown === undefined) return;
    const wasCommitted = await this.options.transactions.hasCommitted(connection, unknown.no);
    this.unknown = undefined;
    if (!wasCommitted) return;
    this.options.onCommit(unknown.no);
    await unknown.group.settle();
  }

  private refuse(units: readonly Unit[], error: KernelError): void {
    for (const unit of units) unit.reject(error);
  }
}

function outcomeUnknown(address: PostgresAddress): StoreError {
  return new StoreError(
    'STORE_OUTCOME_UNKNOWN',
    `The connection to ${address.host}:${address.port} was lost while a commit was on its way, and the server does not answer.`,
    {
      facts: factsOf(address),
      hint: 'Read the state before the call is repeated: it may have been carried out. An id makes a spawn idempotent.',
    },
  );
}
