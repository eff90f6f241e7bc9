import type { PostgresAddress } from '../../base/address/postgres-address.js';
import type { StoreAddress } from '../../base/address/store-address.js';
import { StoreError } from '../../base/errors.js';
import type { StoredValues } from '../working-set/row-codec.js';
import { continueNumbers, readNumbers } from '../working-set/row-numbers.js';
import { PostgresSource } from './postgres-source.js';
import { PostgresTarget } from './postgres-target.js';
import { SqliteSource } from './sqlite-source.js';
import { SqliteTarget } from './sqlite-target.js';
import type { TransferSource, TransferTarget } from './transfer-store.js';
import { type TransferTable, transferTables } from './transfer-tables.js';

/** The address of a store that can be moved: one in memory is gone with its kernel. */
export type MovableAddress = Exclude<StoreAddress, { readonly kind: 'memory' }>;

/** Locks a store, so that nobody can write to it. Throws STORE_*, SCHEMA_NEWER. */
export function openSource(address: MovableAddress): Promise<TransferSource> {
  return isPostgres(address) ? PostgresSource.open(address) : SqliteSource.open(address.path);
}

/** Begins a new store. Throws STORE_NOT_VACANT, STORE_FOREIGN and other STORE_* errors. */
export function openTarget(address: MovableAddress): Promise<TransferTarget> {
  return isPostgres(address) ? PostgresTarget.open(address) : SqliteTarget.open(address.path);
}

/** Inserts all rows of a store as they are, and has its numbers go on. Answers how many rows there are. Throws CANCELLED. */
export async function copyRows(source: TransferSource, target: TransferTarget, signal?: AbortSignal): Promise<number> {
  let count = 0;
  for (const table of transferTables) {
    for await (const rows of readPages(source, table)) {
      assertNotCancelled(signal);
      await onTarget(target, () => target.insert(table, rows));
      count += rows.length;
    }
  }
  const numbers = await readNumbers(source.tx);
  await onTarget(target, () => continueNumbers(target.tx, numbers));
  return count;
}

/** The pages of a table; what goes wrong with them is an error of the source. */
async function* readPages(source: TransferSource, table: TransferTable): AsyncIterable<readonly StoredValues[]> {
  try {
    yield* source.pages(table);
  } catch (error) {
    throw source.toKernelError(error);
  }
}

async function onTarget(target: TransferTarget, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw target.toKernelError(error);
  }
}

/** Throws CANCELLED. */
export function assertNotCancelled(signal: AbortSignal | undefined): void {
  if (signal?.aborted !== true) return;
  throw new StoreError('CANCELLED', 'The store was not moved: the call was given up by its signal.', {
    hint: 'Move it again; nothing was left at the target.',
  });
}

function isPostgres(address: MovableAddress): address is PostgresAddress {
  return address.kind === 'postgres';
}
