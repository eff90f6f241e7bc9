import { onTestFinished } from 'vitest';
import { isPostgres } from './postgres-raw-connection.js';
import { rawSql } from './raw-sql.js';

/**
 * Until the test is over, the engine refuses to store a process of this name, when its row is written. On PostgreSQL with the
 * given SQLSTATE, as a failure on the server would have.
 */
export async function refuseName(store: string, name: string, sqlstate = '23514'): Promise<void> {
  if (!isPostgres(store)) {
    const refuse = "SELECT RAISE(ABORT, 'refused by a test')";
    await rawSql(
      store,
      `CREATE TRIGGER refuse_name BEFORE INSERT ON processes WHEN NEW.name = '${name}' BEGIN ${refuse}; END`,
    );
    return;
  }
  await rawSql(
    store,
    `CREATE OR REPLACE FUNCTION refuse_row() RETURNS trigger LANGUAGE plpgsql AS
     $$ BEGIN RAISE EXCEPTION 'refused by a test' USING ERRCODE = TG_ARGV[0]; END $$`,
  );
  await rawSql(
    store,
    `CREATE TRIGGER refuse_name BEFORE INSERT ON processes FOR EACH ROW
     WHEN (NEW.name = '${name}') EXECUTE FUNCTION refuse_row('${sqlstate}')`,
  );
  // Databases are used again, with everything but their rows.
  onTestFinished(() => allowNames(store));
}

/** Ends what `refuseName` has begun. */
export async function allowNames(store: string): Promise<void> {
  await rawSql(
    store,
    isPostgres(store) ? 'DROP TRIGGER IF EXISTS refuse_name ON processes' : 'DROP TRIGGER refuse_name',
  );
}
