import { InputError } from '../errors.js';

/** A database and a schema in it, without what the driver reads itself: user, password, TLS. */
export interface PostgresAddress {
  readonly kind: 'postgres';
  /** The address for the driver, without the parameters that are ours. It may hold a password: it is in no message. */
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly database: string;
  /** All tables lie in it; default `procura`. */
  readonly schema: string;
  /** Whether statements are prepared under names. False for poolers that cannot keep them: `?prepare=false`. */
  readonly prepare: boolean;
  /** Where notifications are listened for, where it is not the same address: `?listen=ADDRESS`, or `?listen=false`. */
  readonly listen: string | false | undefined;
}

const schemaName = /^[a-z_][a-z0-9_]{0,62}$/;

export function isPostgresAddress(text: string): boolean {
  return /^postgres(ql)?:\/\//.test(text);
}

/** Parses `postgres://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME`. Throws INVALID_INPUT, without the password. */
export function parsePostgresAddress(text: string, path = 'options.store'): PostgresAddress {
  const invalid = (problem: string) => invalidAddress(path, problem);
  const url = parseUrl(text, invalid);
  const schema = take(url, 'schema') ?? 'procura';
  if (!schemaName.test(schema) || schema.startsWith('pg_')) {
    throw invalid('a schema is lower-case letters, digits and _, 63 at most, and does not begin with pg_');
  }
  const prepare = take(url, 'prepare') ?? 'true';
  if (prepare !== 'true' && prepare !== 'false') throw invalid('prepare is true or false');
  const listen = take(url, 'listen');
  const database = decodeURIComponent(url.pathname.slice(1));
  if (database === '') throw invalid('it names no database');
  const shown = {
    kind: 'postgres' as const,
    host: url.searchParams.get('host') ?? decodeURIComponent(url.hostname),
    port: Number(url.searchParams.get('port') ?? (url.port || 5432)),
    database,
    schema,
    prepare: prepare === 'true',
  };
  const listenAt =
    listen === undefined ? undefined : parseListen(listen === 'false' ? false : listen, `${path}?listen`);
  return withHidden(shown, url.href, listenAt);
}

/** The address where notifications are listened for; false: nowhere. Throws INVALID_INPUT, without the password. */
export function parseListen(listen: string | false, path: string): string | false {
  return listen === false ? false : parsePostgresAddress(listen, path).url;
}

/** The same database, with another address where notifications are listened for. */
export function listeningAt({ url, ...shown }: PostgresAddress, listen: string | false): PostgresAddress {
  return withHidden(shown, url, listen);
}

/** What holds a password is not printed where somebody prints a kernel. */
function withHidden(
  shown: Omit<PostgresAddress, 'url' | 'listen'>,
  url: string,
  listen: string | false | undefined,
): PostgresAddress {
  return Object.defineProperties({ ...shown }, { url: { value: url }, listen: { value: listen } }) as PostgresAddress;
}

/** An address whose parts the driver can decode. */
function parseUrl(text: string, invalid: (problem: string) => InputError): URL {
  if (!isPostgresAddress(text)) throw invalid('it does not begin with postgres://');
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw invalid('it is no URL');
  }
  try {
    for (const part of [url.username, url.password, url.hostname, url.pathname]) decodeURIComponent(part);
  } catch {
    throw invalid('a % in it is not followed by the code of a character; write %25 for the character itself');
  }
  return url;
}

/** The facts of a message about the database. */
export function factsOf({ host, port, database, schema }: PostgresAddress) {
  return { host, port, database, schema };
}

function take(url: URL, name: string): string | undefined {
  const value = url.searchParams.get(name) ?? undefined;
  url.searchParams.delete(name);
  return value;
}

function invalidAddress(path: string, problem: string): InputError {
  return new InputError('INVALID_INPUT', `${path}: the address of the database is not valid: ${problem}.`, {
    facts: { path, problem },
    hint: 'Write postgres://USER:PASSWORD@HOST:PORT/DATABASE?schema=NAME, with special characters percent-encoded.',
  });
}
