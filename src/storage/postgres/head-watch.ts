import type { Client } from 'pg';
import type { PostgresAddress } from '../../base/address/postgres-address.js';
import type { Logger } from '../../base/logger.js';
import { connect } from './connect.js';
import { codeOf, messageOf } from './postgres-errors.js';
import type { PostgresReadQueue } from './postgres-read-queue.js';
import { versionOf } from './postgres-transaction.js';

export interface HeadWatchOptions {
  readonly address: PostgresAddress;
  readonly pollMs: number;
  readonly readOnly: boolean;
  readonly writer: string;
  readonly reads: PostgresReadQueue;
  readonly logger: Logger;
}

/** Commits that follow each other within this time are told to other nodes once. */
const notifyMs = 5;
const reconnectMsMin = 1_000;
const reconnectMsMax = 30_000;

/** Waits for no disk: a notification is not worth it. */
const notify = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)";

/**
 * Finds out that other nodes have committed: by looking at the number of the newest commit every `pollMs`, and at once when it is
 * notified. A notification is a hint: where none arrive, everything goes on at the pace of the polls.
 */
export class HeadWatch {
  private newest = 0;
  private poll: NodeJS.Timeout | undefined;
  private notifying: NodeJS.Timeout | undefined;
  private reconnecting: NodeJS.Timeout | undefined;
  private looking: Promise<void> | undefined;
  private listener: Client | undefined;
  private pauseMs = reconnectMsMin;
  private isTold = false;
  private isClosed = false;

  /** `onForeignCommit` is told whether commits that were seen are lost; `onSchema` is given the number of the schema. */
  constructor(
    private readonly options: HeadWatchOptions,
    private readonly onForeignCommit: (hasLostCommits: boolean) => void,
    private readonly onSchema: (schema: number) => void,
  ) {}

  async start(): Promise<void> {
    this.newest = (await this.readHead()).no;
    this.poll = setInterval(() => this.look(), this.options.pollMs).unref();
    await this.listen();
  }

  /** The newest commit, and the version of the database that it has made. */
  async readHead(): Promise<{ readonly no: number; readonly version: string }> {
    const { reads, address } = this.options;
    const [row = []] = await reads.statement(`SELECT "no", "writer", "schema" FROM "${address.schema}"."head"`);
    const [no = 0, writer = '', schema = 0] = row as [number?, string?, number?];
    this.onSchema(schema);
    return { no, version: versionOf({ no, writer }) };
  }

  /** A group of this store has the lock and has seen this commit, which may be another's. */
  seen(no: number): void {
    if (no < this.newest) this.onLostCommits(no);
    else if (no > this.newest) this.onNewer(no);
  }

  /** This store has made the commit: the others are told soon. */
  committed(no: number): void {
    this.newest = Math.max(this.newest, no);
    this.notifying ??= setTimeout(() => {
      this.notifying = undefined;
      void this.notify();
    }, notifyMs).unref();
  }

  async close(): Promise<void> {
    this.isClosed = true;
    clearInterval(this.poll);
    clearTimeout(this.reconnecting);
    if (this.notifying !== undefined) {
      clearTimeout(this.notifying);
      await this.notify();
    }
    await this.looking;
    await this.listener?.end().catch(() => undefined);
  }

  private get channel(): string {
    return `procura_${this.options.address.schema}`.slice(0, 63);
  }

  private look(): void {
    if (this.isClosed) return;
    // Commits that are acknowledged while the answer is on its way are not in it.
    const { newest } = this;
    this.looking ??= this.readHead()
      .then(({ no }) => {
        if (no < newest) this.onLostCommits(no);
        else if (no > this.newest) this.onNewer(no);
      })
      // The server does not answer: units say so, and the next poll tries again.
      .catch(() => undefined)
      .finally(() => {
        this.looking = undefined;
      });
  }

  private onNewer(no: number): void {
    this.newest = no;
    this.onForeignCommit(false);
  }

  private onLostCommits(no: number): void {
    const facts = { newest: this.newest, found: no };
    this.newest = no;
    this.options.logger.error(
      facts,
      'the database has lost commits, as after a failover to a server that did not have them',
    );
    this.onForeignCommit(true);
  }

  private async notify(): Promise<void> {
    const { reads, writer } = this.options;
    // A hint that is lost delays others until their next poll.
    await reads.statement(notify, [this.channel, writer]).catch(() => undefined);
  }

  private async listen(): Promise<void> {
    const { address, writer } = this.options;
    if (address.listen === false || this.isClosed) return;
    try {
      let listener: Client | undefined;
      const connected = await connect(address, 'listener', () => this.onListenerEnd(listener), address.listen);
      listener = connected;
      this.listener = connected;
      connected.on('notification', ({ payload }) => {
        if (payload !== writer) this.look();
      });
      await connected.query(`LISTEN "${this.channel}"`);
      if (this.isClosed) await connected.end();
      this.pauseMs = reconnectMsMin;
      this.isTold = false;
    } catch (error) {
      // A standby and some poolers refuse it: polling alone is enough there.
      if (/^(25006|0A000|42)/.test(codeOf(error) ?? '')) return;
      this.onListenerEnd(this.listener, error);
    }
  }

  private onListenerEnd(listener: Client | undefined, error?: unknown): void {
    if (this.isClosed || listener !== this.listener || this.reconnecting !== undefined) return;
    this.listener = undefined;
    if (!this.isTold) {
      const reason = error === undefined ? 'the connection was ended' : messageOf(error);
      this.options.logger.warn(
        { reason },
        'notifications of other nodes are lost; commits are found by polling until they are back',
      );
      this.isTold = true;
    }
    this.reconnecting = setTimeout(() => {
      this.reconnecting = undefined;
      void this.listen();
    }, this.pauseMs).unref();
    this.pauseMs = Math.min(this.pauseMs * 2, reconnectMsMax);
  }
}
