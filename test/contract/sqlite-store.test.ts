import { join } from 'node:path';
import { SqliteAuditRepository } from '../../src/storage/repository/sqlite-audit-repository.js';
import { SqliteEventRepository } from '../../src/storage/repository/sqlite-event-repository.js';
import { SqliteStore } from '../../src/storage/sqlite/sqlite-store.js';
import { tempFolder } from '../support/kernel.js';
import { sharedStoreContract, storeContract } from './store-contract.js';

const repositories = () => ({ events: new SqliteEventRepository(), rows: new SqliteAuditRepository() });
const storeAt = (path: string, durability: 'full' | 'normal' = 'full') =>
  new SqliteStore({ path, durability, readOnly: false, pollMs: 20 });

function onFile(durability: 'full' | 'normal' = 'full') {
  const path = join(tempFolder(), 'contract.db');
  return { ...repositories(), store: storeAt(path, durability), createSecond: () => storeAt(path, durability) };
}

storeContract('the SQLite store on a file', () => onFile());
storeContract('the SQLite store with durability normal', () => onFile('normal'));
storeContract('the SQLite store in memory', () => ({ ...repositories(), store: storeAt(':memory:') }));
sharedStoreContract('the SQLite store', () => onFile());
