import { closeSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type Database from 'better-sqlite3';
import { KernelError, StoreError } from '../../base/errors.js';

/** 'PROC': written into the header of every database that is ours. */
export const applicationId = 0x50524f43;
const magic = 'SQLite format 3\0';
/** The header of the file and that of its first page, which is the root of sqlite_master. */
const headerBytes = 108;
const emptyLeafPage = 0x0d;

export interface Identity {
  /** False for a file that is missing or empty and can become ours. */
  readonly isOurs: boolean;
  /** The number of its schema, 0 when it is not ours yet. */
  readonly schema: number;
}

/**
 * Tells whether `path` is a database of ours or can become one. Reads bytes and opens no database, since opening one
 * may leave files beside it: a foreign file stays untouched. Throws STORE_FOREIGN, STORE_IO.
 */
export function identify(path: string): Identity {
  try {
    return readIdentity(path);
  } catch (error) {
    throw error instanceof KernelError ? error : unreadable(path, String(error), error);
  }
}

/** Throws STORE_FOREIGN for a database that another program has filled since it was identified. */
export function assertOursOrVacant(raw: Database.Database): void {
  const owner = raw.pragma('application_id', { simple: true });
  if (owner === applicationId) return;
  const tables = raw.prepare('SELECT count(*) FROM sqlite_master').pluck().get();
  if (owner !== 0 || tables !== 0) throw foreign(raw.name, 'it belongs to another program');
}

function readIdentity(path: string): Identity {
  if (path !== path.trim() || path.includes('\0')) {
    throw unreadable(path, 'the name begins or ends with a blank, or holds a NUL');
  }
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) {
    if (!isFolder(dirname(path))) throw unreadable(path, 'its folder is not there');
    return { isOurs: false, schema: 0 };
  }
  if (!stats.isFile()) throw foreign(path, 'it is not a file');
  if (stats.size === 0) return { isOurs: false, schema: 0 };
  const header = readHeader(path);
  if (header.length < headerBytes || header.toString('latin1', 0, magic.length) !== magic) {
    throw foreign(path, 'it is not an SQLite database');
  }
  const owner = header.readUInt32BE(68);
  if (owner === applicationId) return { isOurs: true, schema: header.readUInt32BE(60) };
  if (owner === 0 && isVacant(path, header)) return { isOurs: false, schema: 0 };
  throw foreign(path, 'it belongs to another program');
}

/** Whether there is no table in the file, and no log beside it that could hold one. */
function isVacant(path: string, header: Buffer): boolean {
  const hasNoTable = header[100] === emptyLeafPage && header.readUInt16BE(103) === 0;
  return hasNoTable && !['-wal', '-journal'].some((suffix) => sizeOf(`${path}${suffix}`) > 0);
}

function readHeader(path: string): Buffer {
  const buffer = Buffer.alloc(headerBytes);
  const fd = openSync(path, 'r');
  try {
    return buffer.subarray(0, readSync(fd, buffer, 0, headerBytes, 0));
  } finally {
    closeSync(fd);
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function sizeOf(path: string): number {
  const stats: Stats | undefined = statSync(path, { throwIfNoEntry: false });
  return stats?.size ?? 0;
}

function foreign(path: string, problem: string): StoreError {
  return new StoreError('STORE_FOREIGN', `${path} was left alone: ${problem}.`, {
    facts: { path, problem },
    hint: 'Name another file, or a new one: it is created.',
  });
}

function unreadable(path: string, problem: string, cause?: unknown): StoreError {
  return new StoreError('STORE_IO', `${JSON.stringify(path)} cannot be opened: ${problem}.`, {
    facts: { path, problem },
    hint: 'Name a file in a folder that exists and that may be read and written.',
    cause,
  });
}
