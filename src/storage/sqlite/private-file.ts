import { chmodSync, closeSync, openSync, statSync } from 'node:fs';

const ownerOnly = 0o600;
const others = 0o077;

/**
 * Makes the database a file that only its owner may read and write, creating it where it is missing: the files that SQLite
 * lays beside it get its mode. What cannot be changed, such as a file of another user, is left as it is.
 */
export function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, 'wx', ownerOnly));
  } catch {
    // It is there already, or cannot be made, which SQLite reports when it opens it.
  }
  for (const file of [path, `${path}-wal`, `${path}-shm`]) restrict(file);
}

function restrict(file: string): void {
  try {
    const mode = statSync(file, { throwIfNoEntry: false })?.mode;
    if (mode !== undefined && (mode & others) !== 0) chmodSync(file, mode & ownerOnly);
  } catch {
    // It belongs to another user.
  }
}
