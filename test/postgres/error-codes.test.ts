import { describe, expect, it } from 'vitest';
import { newStore, openKernel, refusal } from '../support/kernel.js';
import { openRaw } from '../support/storage/raw-connection.js';
import { rawSql } from '../support/storage/raw-sql.js';
import { allowNames, refuseName } from '../support/storage/refused-names.js';
import { findInconsistencies } from '../support/store-consistency.js';

/** What the server answers, the code of the error, and whether it says to try again. */
const answers = [
  ['55P03', 'STORE_BUSY', true],
  ['57014', 'STORE_BUSY', true],
  ['53100', 'STORE_FULL', true],
  ['53200', 'STORE_FULL', true],
  ['42501', 'STORE_READONLY', false],
  ['25006', 'STORE_READONLY', false],
  ['XX001', 'STORE_CORRUPT', false],
  ['XX002', 'STORE_CORRUPT', false],
  ['40001', 'STORE_UNAVAILABLE', true],
  ['40P01', 'STORE_UNAVAILABLE', true],
  ['57P01', 'STORE_UNAVAILABLE', true],
  ['57P03', 'STORE_UNAVAILABLE', true],
  ['08006', 'STORE_UNAVAILABLE', true],
  ['53300', 'STORE_UNAVAILABLE', true],
  ['23514', 'STORE_FAILED', false],
  ['22003', 'STORE_FAILED', false],
  ['54000', 'STORE_FAILED', false],
  ['58030', 'STORE_FAILED', false],
] as const;

describe('an error of the server', () => {
  it('in a transaction has a code of the kernel; nothing is kept, and the store works on', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store, node: { executor: false } });
    for (const [sqlstate, code, retryable] of answers) {
      await refuseName(store, 'guilty', sqlstate);
      const outcome = await kernel.processes.spawn({ name: 'guilty' }).catch((error: unknown) => error);
      const expected = { name: 'StoreError', code, retryable, hint: expect.stringMatching(/./) };
      expect({ sqlstate, outcome }).toMatchObject({ sqlstate, outcome: expected });
      await allowNames(store);
    }
    expect((await kernel.processes.list()).items).toEqual([]);
    await kernel.processes.spawn({ name: 'guilty' });
    expect((await kernel.processes.list()).items.map(({ name }) => name)).toEqual(['guilty']);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('that another transaction would not have is not seen by the caller: the group is run again', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store, node: { executor: false } });
    await rawSql(store, 'CREATE SEQUENCE runs');
    try {
      // Sequences are not taken back with a transaction: the first two runs fail, and the third does not.
      await rawSql(
        store,
        `CREATE FUNCTION fail_twice() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN IF nextval('procura.runs') < 3 THEN RAISE EXCEPTION 'x' USING ERRCODE = '40001'; END IF; RETURN NEW; END $$`,
      );
      await rawSql(
        store,
        'CREATE TRIGGER fail_twice BEFORE INSERT ON processes FOR EACH ROW EXECUTE FUNCTION fail_twice()',
      );
      await kernel.processes.spawn({ name: 'third' });
      expect(await rawSql(store, 'SELECT last_value AS runs FROM runs')).toEqual([{ runs: 3 }]);
    } finally {
      await rawSql(store, 'DROP FUNCTION fail_twice CASCADE');
      await rawSql(store, 'DROP SEQUENCE runs');
    }
    expect((await kernel.processes.list()).items).toMatchObject([{ name: 'third' }]);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('that says the same each time is told after three runs', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store, node: { executor: false } });
    await rawSql(store, 'CREATE SEQUENCE runs');
    try {
      await rawSql(
        store,
        `CREATE FUNCTION fail_always() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN PERFORM nextval('procura.runs'); RAISE EXCEPTION 'x' USING ERRCODE = '40001'; END $$`,
      );
      await rawSql(
        store,
        'CREATE TRIGGER fail_always BEFORE INSERT ON processes FOR EACH ROW EXECUTE FUNCTION fail_always()',
      );
      expect((await refusal(kernel.processes.spawn({}))).code).toBe('STORE_UNAVAILABLE');
      expect(await rawSql(store, 'SELECT last_value AS runs FROM runs')).toEqual([{ runs: 3 }]);
    } finally {
      await rawSql(store, 'DROP FUNCTION fail_always CASCADE');
      await rawSql(store, 'DROP SEQUENCE runs');
    }
  });

  it('in a read is told to its caller, and the next read is answered', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store, node: { executor: false } });
    const pid = await kernel.processes.spawn({});
    await rawSql(store, 'ALTER TABLE process_logs RENAME TO moved_away');
    try {
      expect((await refusal(kernel.processes.logs(pid))).code).toBe('STORE_FAILED');
      expect(await kernel.processes.get(pid)).toMatchObject({ pid });
    } finally {
      await rawSql(store, 'ALTER TABLE moved_away RENAME TO process_logs');
    }
    expect((await kernel.processes.logs(pid)).items).toEqual([]);
  });
});

describe('the lock of the database', () => {
  it('that another program keeps is waited for, then STORE_BUSY, and work goes on when it is free', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store, node: { executor: false } });
    const other = await openRaw(store);
    const lock = await other.lock();
    const refused = await refusal(kernel.processes.spawn({ name: 'refused' }));
    expect(refused).toMatchObject({ code: 'STORE_BUSY', facts: { sqlstate: '55P03' } });
    const waiting = kernel.processes.spawn({ name: 'waiting' });
    // Reads need no lock.
    expect((await kernel.processes.list()).items).toEqual([]);
    await lock[Symbol.asyncDispose]();
    await other.close();
    await waiting;
    expect((await kernel.processes.list()).items).toMatchObject([{ name: 'waiting' }]);
  });

  it('is given back by a statement that an administrator has cancelled', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store, node: { executor: false } });
    await rawSql(
      store,
      `CREATE FUNCTION stand_still() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN PERFORM pg_sleep(600); RETURN NEW; END $$`,
    );
    await rawSql(
      store,
      `CREATE TRIGGER stand_still BEFORE INSERT ON processes FOR EACH ROW WHEN (NEW.name = 'slow')
       EXECUTE FUNCTION stand_still()`,
    );
    try {
      const slow = refusal(kernel.processes.spawn({ name: 'slow' }));
      const cancel = `SELECT pg_cancel_backend(pid) AS done FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event = 'PgSleep'`;
      await expect.poll(async () => (await rawSql(store, cancel)).length).toBe(1);
      expect(await slow).toMatchObject({ code: 'STORE_BUSY', facts: { sqlstate: '57014' } });
      await kernel.processes.spawn({ name: 'quick' });
    } finally {
      await rawSql(store, 'DROP FUNCTION stand_still CASCADE');
    }
    expect((await kernel.processes.list()).items).toMatchObject([{ name: 'quick' }]);
  });
});
