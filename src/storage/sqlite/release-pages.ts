import type Database from 'better-sqlite3';
import type { WriteTx } from '../../base/store.js';
import { prepareStatements } from '../statements/prepare-statements.js';
import type { Db, StatementConnection } from '../statements/statement-connection.js';

/** The value of `auto_vacuum` with which free pages can be given back in parts. */
const incremental = 2;

export function isEmptyFile(raw: Database.Database): boolean {
  return !raw.memory && raw.pragma('page_count', { simple: true }) === 0;
}

/**
 * First in the transaction that creates a file: its free pages can be given back. It is part of that transaction, so that no
 * other program finds a file without an owner. An older file stays as it is.
 */
export function allowReleasingPages(raw: Database.Database): void {
  if (isEmptyFile(raw)) raw.pragma('auto_vacuum = INCREMENTAL');
}

const statements = prepareStatements((_db: Db, raw: StatementConnection) => ({
  mode: raw.prepare<[], number>('PRAGMA auto_vacuum').pluck(),
  free: raw.prepare<[], number>('PRAGMA freelist_count').pluck(),
}));

/** Gives free pages back in the unit. Answers how many are left, or 0 where the file does not allow it. */
export async function releasePages(tx: WriteTx, limit: number, raw: Database.Database): Promise<number> {
  const { mode, free } = statements.read(tx);
  const before = (await free.get()) ?? 0;
  if ((await mode.get()) !== incremental || before === 0) return 0;
  statements.write(tx);
  raw.pragma(`incremental_vacuum(${limit})`);
  const left = (await free.get()) ?? 0;
  return left < before ? left : 0;
}

/** Copies the log into the file, as far as readers allow. */
export function checkpoint(raw: Database.Database): void {
  try {
    raw.pragma('wal_checkpoint(PASSIVE)');
  } catch {
    // Another program does it at the moment.
  }
}

/** Rewrites the file. The copy that SQLite makes meanwhile may be large, so it is not kept in memory. */
export function compact(raw: Database.Database): void {
  raw.pragma('temp_store = FILE');
  try {
    raw.pragma('auto_vacuum = INCREMENTAL');
    raw.exec('VACUUM');
    raw.pragma('wal_checkpoint(TRUNCATE)');
  } finally {
    raw.pragma('temp_store = MEMORY');
  }
}
