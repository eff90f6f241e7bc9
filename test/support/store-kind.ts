/** The kinds of stores. The project `sqlite` of vitest.config.ts runs all tests on the one, `postgres` those of the kernel on the other. */
export type StoreKind = 'sqlite' | 'postgres';

/** The kind of store that this run tests: `newStore` and `openKernel` make stores of this kind. */
export const storeKind: StoreKind = process.env.PROCURA_TEST_STORE_KIND === 'postgres' ? 'postgres' : 'sqlite';

/** For what is true of one kind of store only: `describe.runIf(isSqlite)`. */
export const isSqlite = storeKind === 'sqlite';
