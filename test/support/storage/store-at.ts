import { randomUUID } from 'node:crypto';
import { parsePostgresAddress } from '../../../src/base/address/postgres-address.js';
import { KernelClock, seededClock } from '../../../src/base/clock.js';
import type { Store } from '../../../src/base/store.js';
import { PostgresStore } from '../../../src/storage/postgres/postgres-store.js';
import { SqliteStore } from '../../../src/storage/sqlite/sqlite-store.js';
import { isPostgres } from './postgres-raw-connection.js';

export interface StoreAtOptions {
  readonly durability?: 'full' | 'normal';
  readonly readOnly?: boolean;
  readonly pollMs?: number;
  readonly clock?: KernelClock;
  /** A server that does not answer for so long is taken for lost. */
  readonly answerMs?: number;
}

/** The store at an address without a kernel around it; not yet open. */
export function storeAt(address: string, options: StoreAtOptions = {}): Store {
  const { durability = 'normal', readOnly = false, pollMs = 250, clock = new KernelClock(seededClock()) } = options;
  const { answerMs } = options;
  if (!isPostgres(address)) return new SqliteStore({ path: address, durability, readOnly, pollMs });
  const limits = answerMs === undefined ? {} : { answerMs };
  const shared = { durability, readOnly, pollMs, clock, databaseClock: undefined, ...limits };
  const silent = { warn: () => undefined, error: () => undefined };
  return new PostgresStore({ ...shared, address: parsePostgresAddress(address), writer: randomUUID() }, silent);
}
