import { strict as assert } from 'node:assert';
import type Database from 'better-sqlite3';
import type { Channel, ReadTx, WriteTx } from '../../base/store.js';
import type { Connection, Db } from './connection.js';

const control = (_db: Db, raw: Database.Database) => ({
  savepoint: raw.prepare('SAVEPOINT unit'),
  release: raw.prepare('RELEASE unit'),
  rollbackTo: raw.prepare('ROLLBACK TO unit'),
});

/** A unit on one connection. Its first write creates its savepoint: a unit that only reads needs none. */
export class SqliteTx implements WriteTx {
  readonly opaque = true;
  readonly deferred: { readonly channel: Channel<unknown, unknown>; readonly item: unknown }[] = [];
  private hasSavepoint = false;

  constructor(
    readonly connection: Connection,
    private readonly mode: 'read' | 'unit' | 'seal',
  ) {}

  /** Called before every write of the unit. */
  ensureSavepoint(): void {
    assert(this.mode !== 'read', 'a read unit may not write');
    if (this.hasSavepoint || this.mode === 'seal') return;
    this.connection.statements(control).savepoint.run();
    this.hasSavepoint = true;
  }

  defer<T>(channel: Channel<T, unknown>, item: T): void {
    this.ensureSavepoint();
    this.deferred.push({ channel: channel as Channel<unknown, unknown>, item });
  }

  /** The result of `load()`, or of an earlier call of this transaction with the same key that is still in the cache. */
  readCached<T>(key: string, load: () => T): T {
    if (this.mode === 'read') return load();
    const { rowCache } = this.connection;
    if (rowCache.has(key)) return rowCache.get(key) as T;
    const value = load();
    rowCache.set(key, value);
    return value;
  }

  dropCached(key: string): void {
    this.connection.rowCache.delete(key);
  }

  release(): void {
    if (this.hasSavepoint) this.connection.statements(control).release.run();
  }

  rollback(): void {
    if (!this.hasSavepoint) return;
    this.connection.rowCache.clear();
    this.connection.statements(control).rollbackTo.run();
    this.connection.statements(control).release.run();
  }

  get hasWritten(): boolean {
    return this.hasSavepoint;
  }
}

/** The statements of a repository on the connection of the caller's unit; `write` creates the savepoint of the unit. */
export function prepareStatements<T>(build: (db: Db, raw: Database.Database) => T): {
  read(tx: ReadTx): T;
  write(tx: WriteTx): T;
} {
  return {
    read: (tx) => (tx as SqliteTx).connection.statements(build),
    write: (tx) => {
      (tx as SqliteTx).ensureSavepoint();
      return (tx as SqliteTx).connection.statements(build);
    },
  };
}

/** Reads a row that many units of one group need, such as the parent of a burst of children. */
export function readCached<T>(tx: ReadTx, key: string, load: () => T): T {
  return (tx as SqliteTx).readCached(key, load);
}

/** Must be called with every write that changes a value which `readCached` has loaded under `key`. */
export function dropCached(tx: WriteTx, key: string): void {
  (tx as SqliteTx).dropCached(key);
}

/** The result of a write without one: SQLite is synchronous, so the write is done when the call returns. */
export const done: Promise<void> = Promise.resolve();
