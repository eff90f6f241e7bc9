import { realpathSync } from 'node:fs';
import path from 'node:path';
import { InputError } from '../errors.js';
import { isPostgresAddress, type PostgresAddress, parsePostgresAddress } from './postgres-address.js';

/** A store, as `options.store` names it. */
export type StoreAddress =
  | { readonly kind: 'memory' }
  | {
      readonly kind: 'sqlite';
      /** The real path of the database. */
      readonly path: string;
      /** The path as it was spelled. */
      readonly spelled: string;
    }
  | PostgresAddress;

/** Parses `:memory:`, `sqlite:PATH`, `PATH.db` or `postgres://…`; `option` is what the message calls it. Throws INVALID_INPUT. */
export function parseStoreAddress(store: string, option = 'options.store'): StoreAddress {
  if (store === ':memory:') return { kind: 'memory' };
  if (isPostgresAddress(store)) return parsePostgresAddress(store, option);
  const file = store.startsWith('sqlite:') ? store.slice('sqlite:'.length) : store;
  const isPath = store.startsWith('sqlite:') ? file.length > 0 : file.endsWith('.db');
  if (isPath) return { kind: 'sqlite', path: realFile(path.resolve(file)), spelled: path.resolve(file) };
  // What looks like an address may hold a password.
  const shown = store.includes('://') ? `${store.split('://')[0]}://…` : store.slice(0, 200);
  throw new InputError('INVALID_INPUT', `${option}: ${JSON.stringify(shown)} names no store.`, {
    facts: { path: option, problem: 'names no store' },
    hint: "Use ':memory:', 'sqlite:PATH', a path that ends in .db, or 'postgres://USER:PASSWORD@HOST:PORT/DATABASE'.",
  });
}

/** Resolves links, so that the key and the checkpoints of a database are beside the file itself. */
export function realFile(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    // A new file is resolved by its folder; a missing folder is refused when the file is opened.
  }
  try {
    return path.join(realpathSync(path.dirname(file)), path.basename(file));
  } catch {
    return file;
  }
}
