import { strict as assert } from 'node:assert';
import type Database from 'better-sqlite3';
import type { Channel, ReadTx, WriteTx } from '../../base/store.js';
import type { Connection, Db } from './connection.js';

const control = (_db: Db, raw: Database.Database) => ({
  savepoint: raw.prepare('SAVEPOINT unit'),
  release: raw.prepare('RELEASE unit'),
  rollbackTo: raw.prepare('ROLLBACK TO unit'),
});

/** A unit on one connection. Its savepoint is made by its first write: a unit that only looks needs none. */
export class SqliteTx implements WriteTx {
  readonly opaque = true;
  readonly deferred: { readonly channel: Channel<unknown, unknown>; readonly item: unknown }[] = [];
  private saved = false;

  constructor(
    readonly connection: Connection,
    private readonly mode: 'read' | 'unit' | 'seal',
  ) {}

  /** Called before every write of the unit. */
  touch(): void {
    assert(this.mode !== 'read', 'a read unit may not write');
    if (this.saved || this.mode === 'seal') return;
    this.connection.statements(control).savepoint.run();
    this.saved = true;
  }

  defer<T>(channel: Channel<T, unknown>, item: T): void {
    this.touch();
    this.deferred.push({ channel: channel as Channel<unknown, unknown>, item });
  }

  /** `load()`, or what an earlier unit of this transaction has loaded under `key` and nobody has changed since. */
  remembered<T>(key: string, load: () => T): T {
    if (this.mode === 'read') return load();
    const { memo } = this.connection;
    if (memo.has(key)) return memo.get(key) as T;
    const value = load();
    memo.set(key, value);
    return value;
  }

  forget(key: string): void {
    this.connection.memo.delete(key);
  }

  keep(): void {
    if (this.saved) this.connection.statements(control).release.run();
  }

  undo(): void {
    if (!this.saved) return;
    this.connection.memo.clear();
    this.connection.statements(control).rollbackTo.run();
    this.connection.statements(control).release.run();
  }

  get wrote(): boolean {
    return this.saved;
  }
}

/** Statements of a repository: `read` for looking, `write` for changing, on the connection of the caller's unit. */
export function prepared<T>(build: (db: Db, raw: Database.Database) => T): {
  read(tx: ReadTx): T;
  write(tx: WriteTx): T;
} {
  return {
    read: (tx) => (tx as SqliteTx).connection.statements(build),
    write: (tx) => {
      (tx as SqliteTx).touch();
      return (tx as SqliteTx).connection.statements(build);
    },
  };
}

/** Reads a row that many units of one group look at, such as the parent of a burst of children. */
export function remembered<T>(tx: ReadTx, key: string, load: () => T): T {
  return (tx as SqliteTx).remembered(key, load);
}

/** Called with every write that changes what `remembered` has loaded under `key`. */
export function forget(tx: WriteTx, key: string): void {
  (tx as SqliteTx).forget(key);
}

/** The answer of a write that has nothing to say: SQLite is done when the call returns. */
export const done: Promise<void> = Promise.resolve();
