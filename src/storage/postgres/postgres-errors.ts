import { factsOf, type PostgresAddress } from '../../base/address/postgres-address.js';
import type { KernelErrorCode } from '../../base/error/error-codes.js';
import { KernelError, StoreError } from '../../base/errors.js';

/** An error as the server or the driver gives it. */
interface DatabaseError extends Error {
  readonly code: string;
}

const errorTable: readonly [prefix: string, code: KernelErrorCode, hint: string, retryable: boolean][] = [
  ['55P03', 'STORE_BUSY', 'Another node held the lock for 5 seconds; try again.', true],
  ['57014', 'STORE_BUSY', 'The server took too long; try again.', true],
  ['53100', 'STORE_FULL', 'Free disk space on the server, then try again.', true],
  ['53200', 'STORE_FULL', 'The server has no memory left; try again.', true],
  ['42501', 'STORE_READONLY', 'Grant the role what it needs, or open with { readOnly: true }.', false],
  ['25006', 'STORE_READONLY', 'Name the primary server, or open with { readOnly: true }.', false],
  ['XX001', 'STORE_CORRUPT', 'Restore the database from a backup.', false],
  ['XX002', 'STORE_CORRUPT', 'Rebuild the index, or restore the database from a backup.', false],
  ['22021', 'INVALID_INPUT', 'Leave out characters with the code 0: PostgreSQL stores none.', false],
  ['28', 'STORE_IO', 'Check user and password of the address, and what the server allows (pg_hba.conf).', false],
  ['3D000', 'STORE_IO', 'Create the database first; the schema in it is made by the kernel.', false],
];

/** The transaction can be run again, on a new connection where the old one is lost. */
const repeatable = /^(40001|40P01|53300|25006)/;

/** The server has ended the connection, and with it the transaction. */
const endsConnection = /^(08|57P0|25P03)/;

/** The driver's own errors have codes of the operating system, or none. */
const systemCode = /^(ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_|ENOENT|EACCES)/;
const lostMessage =
  /Connection terminated|connection.*(closed|ended)|timeout expired|not queryable|before it had answered/i;

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? (error as DatabaseError).code : undefined;
}

/** Whether the connection is gone, or the server told to try again. */
export function isRepeatable(error: unknown): boolean {
  if (error instanceof KernelError) return false;
  return isConnectionError(error) || repeatable.test(codeOf(error) ?? '');
}

/** Whether the connection is gone: an answer that was not received may still have been given. */
export function isConnectionError(error: unknown): boolean {
  if (error instanceof KernelError) return false;
  const code = codeOf(error);
  if (code !== undefined) return endsConnection.test(code) || systemCode.test(code);
  return error instanceof Error && lostMessage.test(error.message);
}

/** Whether a value of one unit was refused: the units beside it are not at fault. */
export function isFaultOfUnit(error: unknown): boolean {
  return /^2[23]/.test(codeOf(error) ?? '');
}

/** Whether the server does not know a prepared statement, as behind a pooler. */
export function isUnknownStatement(error: unknown): boolean {
  return codeOf(error) === '26000' || codeOf(error) === '42P05';
}

/** Converts an error of a unit: a KernelError stays as it is, an error of the database becomes a StoreError without secrets. */
export function toStoreError(error: unknown, address: PostgresAddress): KernelError {
  if (error instanceof KernelError) return error;
  const facts = factsOf(address);
  if (isRepeatable(error) && codeOf(error) !== '25006') return unavailable(address, error);
  const code = codeOf(error);
  if (code === undefined || !/^[0-9A-Z]{5}$/.test(code)) {
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
  return new StoreError(kernelCode, `The database answered ${code}: ${messageOf(error)}`, {
    facts: { ...facts, sqlstate: code },
    hint,
    retryable,
  });
}

function unavailable(address: PostgresAddress, error?: unknown): StoreError {
  const reason = error === undefined ? '' : ` (${codeOf(error) ?? messageOf(error)})`;
  return new StoreError(
    'STORE_UNAVAILABLE',
    `The database server at ${address.host}:${address.port} cannot be reached${reason}.`,
    {
      facts: factsOf(address),
      hint: 'Nothing of this call was kept; try again when the server is up.',
      retryable: true,
    },
  );
}

/** The first line of what the server said, which never holds the address. */
export function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return (text.split('\n')[0] ?? '').slice(0, 300);
}
