import { factsOf, type PostgresAddress } from '../../base/address/postgres-address.js';
import type { KernelErrorCode } from '../../base/error/error-codes.js';
import { KernelError, StoreError } from '../../base/errors.js';

/** An error as the server or the driver gives it. */
interface DatabaseError extends Error {
  readonly code: string;
}

/** The code of a lock that was not free within `lock_timeout`. */
export const lockTimeout = '55P03';

const errorTable: readonly [prefix: string, code: KernelErrorCode, hint: string, retryable: boolean][] = [
  [lockTimeout, 'STORE_BUSY', 'Another node held the lock for 5 seconds; try again.', true],
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

/** The server has undone the transaction, which can be run again. */
const repeatable = /^(40000|40001|40P01|53300|25006)/;

const sqlState = /^[0-9A-Z]{5}$/;

/** The server has ended the connection, and with it the transaction. */
const endsConnection = /^(08|57P0|25P03)/;

/** The driver's own errors have codes of the operating system, or none. */
const systemCode = /^(ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_|ENOENT|EACCES)/;
const lostMessage =
  /Connection terminated|connection.*(closed|ended)|timeout expired|not queryable|before it had answered/i;

export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? (error as DatabaseError).code : undefined;
}

/** The error of a COMMIT that was answered with the name of another command: the transaction had failed, and is undone. */
export function notCommitted(tag: string): Error {
  return Object.assign(new Error(`COMMIT was answered with ${tag}`), { code: '40000' });
}

/** Whether a new connection may do better: this server does not take part in writing any more, or has lost the statements. */
export function needsNewConnection(error: unknown): boolean {
  return /^(25006|26000|42P05|40000)/.test(codeOf(error) ?? '');
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

/** Whether a value of one unit was refused, or what it did failed here: the units beside it are not at fault. */
export function isFaultOfUnit(error: unknown): boolean {
  if (error instanceof KernelError || isConnectionError(error)) return false;
  const code = codeOf(error);
  return code === undefined || !sqlState.test(code) || /^(2[23]|54)/.test(code);
}

/** Whether the server does not know a prepared statement, as behind a pooler. */
export function isUnknownStatement(error: unknown): boolean {
  return codeOf(error) === '26000' || codeOf(error) === '42P05';
}

/** Converts an error of a unit: a KernelError stays as it is, an error of the database becomes a StoreError without secrets. */
export function toStoreError(error: unknown, address: PostgresAddress): KernelError {
  if (error instanceof KernelError) return error;
  const facts = factsOf(address);
  const code = codeOf(error);
  if (isRepeatable(error) && code !== '25006') return unavailable(address, error);
  if (code === undefined || !sqlState.test(code)) {
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

/** The error of a connection that was not opened, for what is neither the server's answer nor the network: the address, or TLS. */
export function toConnectError(error: unknown, address: PostgresAddress): unknown {
  const code = codeOf(error) ?? '';
  if (error instanceof KernelError || sqlState.test(code) || isConnectionError(error)) return error;
  return new StoreError('STORE_IO', `The connection to ${address.host}:${address.port} failed: ${messageOf(error)}`, {
    facts: { ...factsOf(address), ...(code === '' ? {} : { problem: code }) },
    hint: 'Check user, password and the TLS parameters of the address.',
  });
}

function unavailable(address: PostgresAddress, error: unknown): StoreError {
  const reason = codeOf(error) ?? messageOf(error);
  return new StoreError(
    'STORE_UNAVAILABLE',
    `The database server at ${address.host}:${address.port} cannot be reached, or ends what it is asked for (${reason}).`,
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
