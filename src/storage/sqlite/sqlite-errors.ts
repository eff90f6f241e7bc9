import Database from 'better-sqlite3';
import type { KernelErrorCode } from '../../base/error/error-codes.js';
import { KernelError, StoreError } from '../../base/errors.js';

const errorTable: readonly [prefix: string, code: KernelErrorCode, hint: string, retryable: boolean][] = [
  ['SQLITE_BUSY', 'STORE_BUSY', 'Another program holds the write lock; try again.', true],
  ['SQLITE_LOCKED', 'STORE_BUSY', 'Another connection holds the table; try again.', true],
  ['SQLITE_FULL', 'STORE_FULL', 'Free disk space or raise the limit of the database, then try again.', true],
  [
    'SQLITE_READONLY',
    'STORE_READONLY',
    'Make the file and its folder writable, or open with { readOnly: true }.',
    false,
  ],
  ['SQLITE_CORRUPT', 'STORE_CORRUPT', 'Restore the file from a backup.', false],
  ['SQLITE_NOTADB', 'STORE_CORRUPT', 'Restore the file from a backup.', false],
  ['SQLITE_CANTOPEN', 'STORE_IO', 'Check that the folder exists and that it may be written to.', false],
  ['SQLITE_IOERR', 'STORE_IO', 'Check the disk; nothing of this call was kept.', true],
  ['SQLITE_NOMEM', 'STORE_IO', 'Free memory; nothing of this call was kept.', true],
];

export function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED)/.test(sqliteCode(error) ?? '');
}

/** Whether a value of one unit was refused, or what it did failed here: the units beside it are not at fault. */
export function isFaultOfUnit(error: unknown): boolean {
  if (error instanceof KernelError) return false;
  const code = sqliteCode(error);
  return code === undefined || /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE)/.test(code);
}

/** Converts an error of a unit: a KernelError stays as it is, an error of SQLite becomes a StoreError. */
export function toKernelError(error: unknown): KernelError {
  if (error instanceof KernelError) return error;
  const code = sqliteCode(error);
  if (code === undefined) {
    return new StoreError('INTERNAL', `The unit failed: ${String(error)}`, {
      hint: 'This is a defect of the kernel; nothing of this call was kept.',
      cause: error,
    });
  }
  const [, kernelCode, hint, retryable] = errorTable.find(([prefix]) => code.startsWith(prefix)) ?? [
    '',
    'STORE_FAILED',
    'Nothing of this call was kept.',
    false,
  ];
  return new StoreError(kernelCode, `The store answered ${code}.`, {
    facts: { sqlite: code },
    hint,
    retryable,
    cause: error,
  });
}

function sqliteCode(error: unknown): string | undefined {
  if (error instanceof Database.SqliteError) return error.code;
  if (error instanceof Error && error.cause instanceof Database.SqliteError) return error.cause.code;
  return undefined;
}
