import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { StoreError } from '../../base/errors.js';
import { toKernelError } from './sqlite-errors.js';

/** 'PROC': written into the header of every database that is ours. */
export const applicationId = 0x50524f43;
const headerBytes = 100;
const magic = 'SQLite format 3\0';

/**
 * Says whether `path` is a database of ours or is to become one. Looks only, so that a file that is refused stays as it
 * was, byte for byte. Throws STORE_FOREIGN, STORE_IO.
 */
export function identify(path: string): 'new' | 'ours' {
  if (!existsSync(path) || statSync(path).size === 0) return 'new';
  const header = readHeader(path);
  if (header.length < headerBytes || header.toString('latin1', 0, magic.length) !== magic) {
    throw foreign(path, 'it is not an SQLite database');
  }
  const owner = header.readUInt32BE(68);
  if (owner === applicationId) return 'ours';
  if (owner === 0 && !hasTables(path)) return 'new';
  throw foreign(path, 'it belongs to another program');
}

function readHeader(path: string): Buffer {
  if (!statSync(path).isFile()) throw foreign(path, 'it is not a file');
  const buffer = Buffer.alloc(headerBytes);
  const fd = openSync(path, 'r');
  try {
    return buffer.subarray(0, readSync(fd, buffer, 0, headerBytes, 0));
  } finally {
    closeSync(fd);
  }
}

function hasTables(path: string): boolean {
  try {
    const raw = new Database(path, { readonly: true, timeout: 0 });
    try {
      return raw.prepare('SELECT count(*) FROM sqlite_master').pluck().get() !== 0;
    } finally {
      raw.close();
    }
  } catch (error) {
    throw toKernelError(error);
  }
}

function foreign(path: string, problem: string): StoreError {
  return new StoreError('STORE_FOREIGN', `${path} was left alone: ${problem}.`, {
    facts: { path, problem },
    hint: 'Name another file, or a new one: it is created.',
  });
}
