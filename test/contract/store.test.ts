import { describe } from 'vitest';
import { SqlAuditRepository } from '../../src/storage/repository/sql-audit-repository.js';
import { SqlEventRepository } from '../../src/storage/repository/sql-event-repository.js';
import { newStore } from '../support/kernel.js';
import { storeAt } from '../support/storage/store-at.js';
import { isSqlite, storeKind } from '../support/store-kind.js';
import { sharedStoreContract, storeContract } from './store-contract.js';

const repositories = () => ({ events: new SqlEventRepository(), rows: new SqlAuditRepository() });

async function onNewStore(durability: 'full' | 'normal' = 'full') {
  const address = await newStore();
  const create = () => storeAt(address, { durability, pollMs: 20 });
  return { ...repositories(), store: create(), createSecond: create };
}

storeContract(`the ${storeKind} store`, () => onNewStore());
storeContract(`the ${storeKind} store with durability normal`, () => onNewStore('normal'));
sharedStoreContract(`the ${storeKind} store`, () => onNewStore());

describe.runIf(isSqlite)('without a file', () => {
  storeContract('the SQLite store in memory', async () => ({ ...repositories(), store: storeAt(':memory:') }));
});
