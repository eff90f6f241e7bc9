import { realpathSync, statSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import type Database from 'better-sqlite3';
import { StoreError } from '../../base/errors.js';
import { Listeners } from '../../base/listeners.js';
import { type Logger, silentLogger } from '../../base/logger.js';
import { installCommand } from '../../base/package/package-manager.js';
import type { ReadTx, Store, WriteTx } from '../../base/store.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';
import { storeClosed } from '../units/store-closed.js';
import { Connection } from './connection.js';
import { FileLock } from './file-lock.js';
import { identify } from './identity.js';
import { assertNotNewer, migrate, schemaNumber, schemaOf } from './migrate.js';
import { assertNativeBinding } from './native-binding.js';
import { makePrivate } from './private-file.js';
import { ReadQueue } from './read-queue.js';
import { checkpoint, compact, releasePages } from './release-pages.js';
import { retryWhileBusy } from './retry-while-busy.js';
import { toKernelError } from './sqlite-errors.js';
import { WriteQueue } from './write-queue.js';

export interface SqliteOptions {
  /** A file, or `:memory:`. */
  readonly path: string;
  readonly durability: 'full' | 'normal';
  readonly readOnly: boolean;
  readonly pollMs: number;
}

const sqliteVersionMin = [3, 51, 3] as const;

/** What nobody has asked for in this time is forgotten, at the latest after twice as long. */
const agingMs = 1_000;

const pragmas = (_db: Db, raw: StatementConnection) => ({ dataVersion: raw.prepare('PRAGMA data_version').pluck() });

/** The store on one SQLite file: a writer connection with group commit, and a reader connection beside it. */
export class SqliteStore implements Store {
  private writer: Connection | undefined;
  private reader: Connection | undefined;
  private writes: WriteQueue | undefined;
  private reads: ReadQueue | undefined;
  private membership: Disposable | undefined;
  private poll: NodeJS.Timeout | undefined;
  private aging: NodeJS.Timeout | undefined;
  private closing: Promise<void> | undefined;
  private dataVersion: unknown;
  private readonly listeners = new Listeners<[hasLostCommits: boolean]>();

  private fileIdentity: string | undefined;
  /** The error of every call after the file was removed or replaced: what it writes would not be kept. */
  private lost: StoreError | undefined;

  constructor(
    private readonly options: SqliteOptions,
    private readonly logger: Logger = silentLogger,
  ) {}

  /** Checks that the file is ours before anything is written, then migrates it. Throws STORE_*, SCHEMA_NEWER. */
  async open(): Promise<void> {
    try {
      await this.connect();
    } catch (error) {
      await this.close();
      throw toKernelError(error);
    }
  }

  write<T>(work: (tx: WriteTx) => Promise<T>): Promise<T> {
    if (this.lost !== undefined) return Promise.reject(this.lost);
    if (this.writes === undefined) return Promise.reject(storeClosed());
    if (this.options.readOnly) return Promise.reject(readOnly());
    return this.writes.run(work);
  }

  read<T>(work: (tx: ReadTx) => Promise<T>): Promise<T> {
    if (this.lost !== undefined) return Promise.reject(this.lost);
    if (this.reads !== undefined) return this.reads.run(work);
    return this.writes === undefined ? Promise.reject(storeClosed()) : this.writes.run(work, 'read');
  }

  async releasePages(limit: number, begin: () => void): Promise<number> {
    const { writer, writes } = this;
    if (writer === undefined || writes === undefined) throw storeClosed();
    const left = await this.write(async (tx) => {
      begin();
      return releasePages(tx, limit, writer.raw);
    });
    // The file gets shorter when the log has been copied into it.
    if (left === 0) await writes.runAlone(() => checkpoint(writer.raw));
    return left;
  }

  async compact(): Promise<void> {
    const { writer, writes } = this;
    if (writer === undefined || writes === undefined) throw storeClosed();
    if (this.options.readOnly) throw readOnly();
    try {
      await writes.runAlone(() => retryWhileBusy(() => compact(writer.raw)));
    } catch (error) {
      throw toKernelError(error);
    }
  }

  onForeignCommit(listener: (hasLostCommits: boolean) => void): Disposable {
    return this.listeners.add(listener);
  }

  /** Waits for the units that were accepted, then closes the file. A second call waits for the first. */
  close(): Promise<void> {
    this.closing ??= this.shutDown();
    return this.closing;
  }

  private async shutDown(): Promise<void> {
    const { writes, reads } = this;
    this.writes = undefined;
    this.reads = undefined;
    clearInterval(this.poll);
    clearInterval(this.aging);
    await writes?.waitUntilIdle();
    await reads?.waitUntilIdle();
    this.membership?.[Symbol.dispose]();
    this.closeConnections();
  }

  private async connect(): Promise<void> {
    const { path, readOnly } = this.options;
    const inMemory = path === ':memory:';
    if (inMemory && readOnly) throw noFile(path);
    assertNativeBinding();
    if (!inMemory) this.assertUsable(path);
    if (!inMemory && !readOnly) makePrivate(path);
    this.writer = await retryWhileBusy(() => new Connection(path, { readonly: readOnly }));
    const { raw } = this.writer;
    assertVersion(raw);
    await retryWhileBusy(() => {
      if (readOnly) return assertNotNewer(schemaOf(raw), schemaNumber);
      migrate(raw);
    });
    if (!readOnly) {
      await retryWhileBusy(() => raw.pragma('journal_mode = WAL'));
      raw.pragma(`synchronous = ${this.options.durability === 'full' ? 'FULL' : 'NORMAL'}`);
    }
    const key = inMemory ? `memory:${performance.now()}:${Math.random()}` : realpathSync(path);
    const lock = FileLock.of(key);
    const checkNow = () => this.checkForeignCommit();
    this.membership = lock.join(key, checkNow);
    this.writes = new WriteQueue(this.writer, lock, () => lock.notifyOthers(checkNow));
    if (inMemory) return;
    this.reader = await retryWhileBusy(() => new Connection(path, { readonly: true }));
    const { workingSet } = this.writer;
    this.reads = new ReadQueue(this.reader, {
      workingSet,
      isCurrent: () => this.writer !== undefined && workingSet.isCommitted(dataVersionOf(this.writer)),
    });
    this.dataVersion = dataVersionOf(this.writer);
    this.fileIdentity = identityOf(path);
    this.poll = setInterval(() => {
      this.checkFile(path);
      this.checkForeignCommit();
    }, this.options.pollMs).unref();
    this.aging = setInterval(() => workingSet.age(), agingMs).unref();
  }

  private assertUsable(path: string): void {
    const { isOurs, schema } = identify(path);
    if (!isOurs && this.options.readOnly) throw noFile(path);
    assertNotNewer(schema, schemaNumber);
  }

  /** Whether the file of the open connections is still the one that everybody else finds. */
  private checkFile(path: string): void {
    const found = identityOf(path);
    if (this.lost !== undefined || found === this.fileIdentity || found === 'unknown') return;
    const problem = found === undefined ? 'removed' : 'replaced by another file';
    this.lost = new StoreError('STORE_IO', `The database ${path} was ${problem} while it was open.`, {
      facts: { path, problem },
      hint: 'Put the file back, or restore it from a backup, and open a new kernel; this one keeps nothing any more.',
    });
    this.logger.error({ path, problem }, 'the database was removed or replaced under a running kernel');
  }

  /** Uses the writer's connection: its data_version changes with every commit but its own. */
  private checkForeignCommit(): void {
    if (this.writes === undefined || this.writer === undefined) return;
    this.reads?.lookAgain();
    const version = dataVersionOf(this.writer) ?? this.dataVersion;
    if (version === this.dataVersion) return;
    this.dataVersion = version;
    this.listeners.notify(false);
  }

  private closeConnections(): void {
    this.reader?.close();
    this.writer?.close();
    this.reader = undefined;
    this.writer = undefined;
  }
}

/** Device and inode of a file; undefined when it is not there. */
function identityOf(path: string): string | 'unknown' | undefined {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats === undefined ? undefined : `${stats.dev}:${stats.ino}`;
  } catch {
    // A folder above it cannot be read at the moment.
    return 'unknown';
  }
}

function dataVersionOf(connection: Connection): unknown {
  try {
    return connection.statements(pragmas).dataVersion.get();
  } catch {
    // Busy or damaged: the next poll tries again, and the next read or write reports it.
    return undefined;
  }
}

function assertVersion(raw: Database.Database): void {
  const text = raw.prepare('SELECT sqlite_version()').pluck().get() as string;
  const found = text.split('.').map(Number);
  for (const [index, least] of sqliteVersionMin.entries()) {
    const part = found[index] ?? 0;
    if (part > least) return;
    if (part < least) {
      throw new StoreError('STORE_UNSUPPORTED', `SQLite ${text} is too old; ${sqliteVersionMin.join('.')} is needed.`, {
        facts: { found: text, least: sqliteVersionMin.join('.') },
        hint: `Run: ${installCommand('better-sqlite3@12')}`,
      });
    }
  }
}

function readOnly(): StoreError {
  return new StoreError('STORE_READONLY', 'The kernel was opened with { readOnly: true }.', {
    hint: 'Open it without readOnly to change anything.',
  });
}

function noFile(path: string): StoreError {
  return new StoreError('STORE_IO', `There is no database at ${path}.`, {
    facts: { path },
    hint: 'Name an existing database; readOnly creates none.',
  });
}
