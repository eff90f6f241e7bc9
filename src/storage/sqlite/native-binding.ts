import Database from 'better-sqlite3';
import { StoreError } from '../../base/errors.js';
import { buildCommand, rebuildCommand } from '../../base/package/package-manager.js';

const name = 'better-sqlite3';

let isLoaded = false;

/**
 * Loads the native part of better-sqlite3, before anything is done with a file. Throws STORE_UNSUPPORTED: package managers
 * may install the package without it, and it is built for one version of Node.
 */
export function assertNativeBinding(): void {
  if (isLoaded) return;
  try {
    new Database(':memory:').close();
    isLoaded = true;
  } catch (error) {
    throw error instanceof Database.SqliteError ? error : unsupported(error);
  }
}

function unsupported(error: unknown): StoreError {
  const text = String(error);
  const isMissing = !(error instanceof Error && 'code' in error && error.code === 'ERR_DLOPEN_FAILED');
  const here = `this is Node ${process.version} on ${process.platform}-${process.arch}`;
  const isForOtherNode = text.includes('NODE_MODULE_VERSION');
  const problem = isMissing ? 'was not built' : isForOtherNode ? 'was built for another Node' : 'cannot be loaded';
  const command = isMissing ? buildCommand(name) : rebuildCommand(name);
  return new StoreError('STORE_UNSUPPORTED', `The native part of ${name} ${problem}; ${here}.`, {
    facts: { package: name, problem, node: process.version, abi: process.versions.modules, command },
    hint: `Run: ${command}`,
    cause: error,
  });
}
