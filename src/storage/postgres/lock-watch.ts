import { performance } from 'node:perf_hooks';
import type { Client } from 'pg';
import type { Logger } from '../../base/logger.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';
import { applicationName } from './connect.js';
import { codeOf, lockTimeout } from './postgres-errors.js';
import type { PostgresReadQueue } from './postgres-read-queue.js';

/** A store that has not got the lock for so long looks who has it, and ends a holder of ours that has done nothing for so long. */
const patienceMs = 10_000;
/** Between two looks. */
const lookMs = 1_000;

/** A connection that holds the lock, as this role may see it. */
interface Holder {
  readonly pid: number;
  readonly role: string | null;
  readonly application: string | null;
  readonly state: string | null;
  /** Whether it is of this role and this program, and has waited for its client within its transaction. */
  readonly isStuck: number | null;
}

/**
 * The holder at the beginning of the queue: those that wait before this store wait for it as well. One that waits for its client
 * may be called active: it has a part of what the client sends together.
 */
const holders = `
  WITH RECURSIVE before(pid) AS (
    SELECT unnest(pg_blocking_pids(?)) UNION SELECT unnest(pg_blocking_pids(before.pid)) FROM before
  )
  SELECT pid, usename AS role, application_name AS application, state,
    (state LIKE 'idle in transaction%' OR wait_event_type = 'Client')
      AND usename = current_user AND starts_with(application_name, '${applicationName} ')
      AND greatest(state_change, query_start) < clock_timestamp() - interval '${patienceMs} milliseconds' AS "isStuck"
  FROM pg_stat_activity JOIN before USING (pid) WHERE cardinality(pg_blocking_pids(pid)) = 0`;

const statements = prepareStatements((_db: Db, raw: StatementConnection) => ({
  holders: raw.prepare<[number], Holder>(holders),
  end: raw.prepare<[number]>('SELECT pg_terminate_backend(?)'),
}));

/**
 * Frees the lock of a node that has stopped within a transaction where the server has not: its limit for idle transactions does
 * not see a message that was sent by half. Holders that are not ours are only named in the log.
 */
export class LockWatch {
  /** When this store began to wait, without having got the lock since. */
  private since: number | undefined;
  private timer: NodeJS.Timeout | undefined;
  private readonly named = new Set<number>();

  constructor(
    private readonly reads: PostgresReadQueue,
    private readonly logger: Logger,
  ) {}

  /** A group waits for the lock on this connection. */
  waits(client: Client): void {
    this.since ??= performance.now();
    const leftMs = this.since + patienceMs - performance.now();
    this.timer = this.look(client, Math.max(leftMs, lookMs));
  }

  /** It does not wait any more: with an error, or because it has the lock. */
  stops(error: unknown): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (codeOf(error) === lockTimeout) return;
    this.since = undefined;
    this.named.clear();
  }

  private look(client: Client, ms: number): NodeJS.Timeout {
    const timer = setTimeout(async () => {
      // A look that fails changes nothing: the time limits of the server still hold.
      await this.endStuckHolder(client).catch(() => undefined);
      if (this.timer === timer) this.timer = this.look(client, lookMs);
    }, ms).unref();
    return timer;
  }

  private async endStuckHolder(client: Client): Promise<void> {
    const { processID } = client as object as { processID: number };
    const found = await this.reads.run(async (tx) => {
      const { holders, end } = statements.read(tx);
      const all = await holders.all(processID);
      for (const { pid, isStuck } of all) if (isStuck === 1) await end.all(pid);
      return all;
    });
    for (const { isStuck, ...holder } of found) {
      if (isStuck === 1) this.logger.warn(holder, 'a node that had stopped within a transaction was disconnected');
      else if (!this.named.has(holder.pid))
        this.logger.warn(holder, 'another connection has held the lock of the database for long');
      this.named.add(holder.pid);
    }
  }
}
