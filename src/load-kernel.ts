import { StoreError } from './base/errors.js';
import { installCommand } from './base/package/package-manager.js';
import type { Kernel } from './create-kernel.js';
import type { KernelOptions } from './kernel-options.js';
import type { MigrateOptions, MigrateReport } from './migrate-store.js';

/**
 * Opens a kernel, creating or migrating the database. Throws INVALID_INPUT, STORE_*, SCHEMA_NEWER, AUDIT_BROKEN,
 * MISSING_PACKAGE when the package for MCP servers is not installed.
 *
 * @example
 * const kernel = await createKernel({ store: 'agents.db' });
 * const root = await kernel.processes.spawn({ goal: 'Write the report', budget: { children: 10 } });
 */
export async function createKernel(options: KernelOptions = {}): Promise<Kernel> {
  // Loaded by the first call: a program that only defines images or handles errors does not need the store.
  const kernel = await import('./create-kernel.js').catch(explainLoading);
  return kernel.createKernel(options);
}

/**
 * Moves a store to another place or another kind of store: all rows as they are, in one transaction, and with the same audit
 * root. The source is locked meanwhile, and stays as it is; it is not to be opened again. The target is not there before all of
 * it is. Published checkpoints and the output of commands are taken along, the signing key with `withKey`. Throws CONFLICT while
 * a node uses the source, STORE_NOT_VACANT and STORE_FOREIGN for a target that is in use, AUDIT_BROKEN, CANCELLED, INVALID_INPUT,
 * STORE_*, SCHEMA_NEWER, MISSING_PACKAGE.
 *
 * @example
 * const { root } = await migrateStore({ from: 'agents.db', to: 'postgres://procura@db.example.com/agents' });
 */
export async function migrateStore(options: MigrateOptions): Promise<MigrateReport> {
  const { moveStore } = await import('./migrate-store.js').catch(explainLoading);
  return moveStore(options);
}

function explainLoading(error: unknown): never {
  throw isDriverMissing(error) ? driverMissing(error) : error;
}

/** A bundled application may have been deployed without the package, which cannot be bundled. */
function isDriverMissing(error: unknown): boolean {
  if (!(error instanceof Error && 'code' in error)) return false;
  return /MODULE_NOT_FOUND$/.test(String(error.code)) && error.message.includes("'better-sqlite3'");
}

function driverMissing(cause: unknown): StoreError {
  const command = installCommand('better-sqlite3@12');
  return new StoreError('STORE_UNSUPPORTED', 'The package better-sqlite3 is not installed.', {
    facts: { package: 'better-sqlite3', problem: 'is not installed', command },
    hint: `Run: ${command}`,
    cause,
  });
}
