import { missingPackage } from '../../base/package/missing-package.js';

/** The driver. */
export type PgPackage = typeof import('pg');

/** Loads the driver on first use: it is an optional dependency. Throws MISSING_PACKAGE. */
export async function loadPgPackage(): Promise<PgPackage> {
  const loaded = await import('pg').catch(missingPackage('pg', '8'));
  return loaded.default as PgPackage;
}
