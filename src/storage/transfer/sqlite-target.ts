import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, openSync, readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import type { Statement } from 'better-sqlite3';
import { type KernelError, StoreError } from '../../base/errors.js';
import type { WriteTx } from '../../base/store.js';
import { syncFolder } from '../files/sync-folder.js';
import { Connection } from '../sqlite/connection.js';
import { identify } from '../sqlite/identity.js';
import { migrate } from '../sqlite/migrate.js';
import { assertNativeBinding } from '../sqlite/native-binding.js';
import { makePrivate } from '../sqlite/private-file.js';
import { toKernelError } from '../sqlite/sqlite-errors.js';
import { WriteUnit } from '../units/write-unit.js';
import type { StoredValues } from '../working-set/row-codec.js';
import { notVacant } from './not-vacant.js';
import type { TransferTarget } from './transfer-store.js';
import type { TransferTable } from './transfer-tables.js';

const besideDatabase = ['-journal', '-wal', '-shm'];

/**
 * An SQLite file that is made. It is filled under another name, and gets its own when it is complete: a program that ends before
 * leaves a draft, which the next one removes.
 */
export class SqliteTarget implements TransferTarget {
  readonly tx: WriteTx;
  private readonly inserts = new Map<string, Statement<unknown[]>>();

  private constructor(
    private readonly path: string,
    private readonly draft: string,
    private readonly connection: Connection,
  ) {
    this.tx = new WriteUnit(connection, 'seal');
  }

  /** Throws STORE_NOT_VACANT, STORE_FOREIGN, STORE_IO. */
  static async open(file: string): Promise<SqliteTarget> {
    assertVacant(file);
    const draft = `${file}${draftMark}${process.pid}-${randomBytes(4).toString('hex')}`;
    let connection: Connection | undefined;
    try {
      assertNativeBinding();
      removeDrafts(file);
      makePrivate(draft);
      connection = new Connection(draft, { readonly: false });
      migrate(connection.raw);
      connection.raw.exec('BEGIN IMMEDIATE');
      return new SqliteTarget(file, draft, connection);
    } catch (error) {
      connection?.close();
      removeDatabase(draft);
      throw toKernelError(error);
    }
  }

  async insert({ name, columns }: TransferTable, rows: readonly StoredValues[]): Promise<void> {
    let statement = this.inserts.get(name);
    if (statement === undefined) {
      const list = columns.map((column) => `"${column}"`).join(', ');
      const places = columns.map(() => '?').join(', ');
      statement = this.connection.raw.prepare<unknown[]>(`INSERT INTO "${name}" (${list}) VALUES (${places})`);
      this.inserts.set(name, statement);
    }
    for (const row of rows) statement.run(...row);
  }

  async commit(): Promise<void> {
    this.connection.raw.exec('COMMIT');
    this.connection.close();
    syncFile(this.draft);
    assertVacant(this.path);
    // A file without a table: it has room for the store under its name.
    rmSync(this.path, { force: true });
    try {
      linkSync(this.draft, this.path);
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'EEXIST') throw isTaken(this.path);
      throw notLinked(this.path, error);
    }
    syncFolder(path.dirname(this.path));
  }

  toKernelError(error: unknown): KernelError {
    return toKernelError(error);
  }

  async close(): Promise<void> {
    this.connection.close();
    removeDatabase(this.draft);
  }
}

const draftMark = '.migrating-';

/** Throws STORE_NOT_VACANT for a store, STORE_FOREIGN for what is not one, also for what another database has left beside it. */
function assertVacant(file: string): void {
  if (identify(file).isOurs) throw isTaken(file);
  for (const suffix of besideDatabase) {
    const left = `${file}${suffix}`;
    if (statSync(left, { throwIfNoEntry: false }) === undefined) continue;
    throw new StoreError('STORE_FOREIGN', `${left} was left alone: it belongs to a database that is not there.`, {
      facts: { path: left, problem: 'it belongs to a database that is not there' },
      hint: 'Name another file, or move this one away.',
    });
  }
}

function isTaken(file: string): StoreError {
  return notVacant(file, { path: file });
}

function notLinked(file: string, cause: unknown): StoreError {
  return new StoreError('STORE_IO', `${file} cannot be written: ${String(cause)}`, {
    facts: { path: file },
    hint: 'Name a file in a folder that may be written to, on a local disk.',
    cause,
  });
}

/** Removes the drafts of programs that are gone. */
function removeDrafts(file: string): void {
  const prefix = `${path.basename(file)}${draftMark}`;
  for (const name of readdirSync(path.dirname(file))) {
    const owner = name.startsWith(prefix) ? /^(\d+)-[0-9a-f]+$/.exec(name.slice(prefix.length)) : null;
    if (owner !== null && !isRunning(Number(owner[1]))) removeDatabase(path.join(path.dirname(file), name));
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH');
  }
}

function removeDatabase(file: string): void {
  for (const suffix of ['', ...besideDatabase]) rmSync(`${file}${suffix}`, { force: true });
}

function syncFile(file: string): void {
  const descriptor = openSync(file, 'r+');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
