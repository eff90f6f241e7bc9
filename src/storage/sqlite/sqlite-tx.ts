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

  keep(): void {
    if (this.saved) this.connection.statements(control).release.run();
  }

  undo(): void {
    if (!this.saved) return;
    this.connection.statements(control).rollbackTo.run();
    this.connection.statements(control).release.run();
  }

  get wrote(): boolean {
    return this.saved;
  }
}

/** Statements of a repository: `read` for looking, `write` for changing, on the connection of the caller's unit. */
export function prepared<T>(build: (db: Db) => T): { read(tx: ReadTx): T; write(tx: WriteTx): T } {
  return {
    read: (tx) => (tx as SqliteTx).connection.statements(build),
    write: (tx) => {
      (tx as SqliteTx).touch();
      return (tx as SqliteTx).connection.statements(build);
    },
  };
}
