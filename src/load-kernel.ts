import { StoreError } from './base/errors.js';
import { installCommand } from './base/package/package-manager.js';
import type { Kernel } from './create-kernel.js';
import type { KernelOptions } from './kernel-options.js';

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
  const kernel = await import('./create-kernel.js').catch((error: unknown) => {
    throw isDriverMissing(error) ? driverMissing(error) : error;
  });
  return kernel.createKernel(options);
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
