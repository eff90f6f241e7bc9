import { closeSync, copyFileSync, openSync, statSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { createKernel, KernelError } from '../../src/index.js';
import { openKernel, refusal, tempFolder } from '../support/kernel.js';
import { execute } from '../support/storage/files.js';
import { findInconsistencies } from '../support/store-consistency.js';

describe('a damaged page', () => {
  it('is STORE_CORRUPT for the call that meets it, and the program goes on', async () => {
    const store = await closedStore(50);
    overwrite(store, rootPage(store, 'processes'), 4096);
    const opened = await createKernel({ logger: 'silent', store }).catch((error: unknown) => error);
    if (opened instanceof KernelError) return expect(opened.code).toBe('STORE_CORRUPT');
    if (opened instanceof Error) throw opened;
    const kernel = opened as Awaited<ReturnType<typeof createKernel>>;
    expect(await refusal(kernel.processes.list())).toMatchObject({ code: 'STORE_CORRUPT' });
    expect(await refusal(kernel.processes.spawn({}))).toMatchObject({ code: 'STORE_CORRUPT' });
    await kernel.shutdown();
  });

  it('in the audit log keeps the kernel from opening', async () => {
    const store = await closedStore(50);
    overwrite(store, rootPage(store, 'audit_records'), 4096);
    expect((await refusal(createKernel({ logger: 'silent', store }))).code).toBe('STORE_CORRUPT');
  });

  it('with the file header, under a running kernel, fails its calls and does not end the program', async () => {
    const store = join(tempFolder(), 'a.db');
    const kernel = await createKernel({ logger: 'silent', store, node: { pollMs: 5 } });
    await kernel.processes.spawn({});
    execute(store, 'PRAGMA wal_checkpoint(TRUNCATE)');
    overwrite(store, 0, 100);
    await sleep(50);
    expect((await refusal(kernel.processes.spawn({}))).code).toBe('STORE_CORRUPT');
    await kernel.shutdown();
  });
});

describe('a torn write-ahead log', () => {
  it('opens at whatever byte it was cut, and what is there is whole', async () => {
    const { folder, spawned } = await crashedStore(40);
    const wal = statSync(join(folder, 'a.db-wal')).size;
    const cuts = [0, 1, 31, 32, 33, wal - 1, wal - 4096, wal, ...Array.from({ length: 20 }, () => randomUpTo(wal))];
    for (const cut of cuts) {
      const store = join(tempFolder(), 'a.db');
      copyCrashed(folder, store);
      truncateSync(`${store}-wal`, cut);
      const kernel = await openKernel({ store });
      expect({ cut, faults: await findInconsistencies(kernel) }).toEqual({ cut, faults: [] });
      const { items } = await kernel.processes.list();
      expect(items.map(({ pid }) => pid)).toEqual(spawned.slice(0, items.length));
      if (cut === wal) expect(items).toHaveLength(spawned.length);
      await kernel.processes.spawn({ name: 'afterwards' });
      expect(await findInconsistencies(kernel)).toEqual([]);
      await kernel.shutdown();
    }
  });

  it('opens with a flipped bit anywhere in it, and what is before the bit is whole', async () => {
    const { folder, spawned } = await crashedStore(20);
    const wal = statSync(join(folder, 'a.db-wal')).size;
    for (let n = 0; n < 15; n++) {
      const store = join(tempFolder(), 'a.db');
      copyCrashed(folder, store);
      const at = randomUpTo(wal - 1);
      overwrite(`${store}-wal`, at, 1);
      const kernel = await openKernel({ store });
      expect({ at, faults: await findInconsistencies(kernel) }).toEqual({ at, faults: [] });
      const { items } = await kernel.processes.list();
      expect(items.map(({ pid }) => pid)).toEqual(spawned.slice(0, items.length));
      await kernel.shutdown();
    }
  });
});

/** A closed database with so many processes in it. */
async function closedStore(processes: number): Promise<string> {
  const store = join(tempFolder(), 'a.db');
  const kernel = await createKernel({ logger: 'silent', store });
  for (let n = 0; n < processes; n++) await kernel.processes.spawn({ name: `p${n}` });
  await kernel.shutdown();
  return store;
}

/** The files of a kernel as they would be found if it had been killed: its log has not been written back. */
async function crashedStore(processes: number): Promise<{ folder: string; spawned: string[] }> {
  const folder = tempFolder();
  const live = join(tempFolder(), 'a.db');
  const kernel = await createKernel({ logger: 'silent', store: live });
  const spawned: string[] = [];
  for (let n = 0; n < processes; n++) spawned.push(await kernel.processes.spawn({ name: `p${n}` }));
  copyCrashed(join(live, '..'), join(folder, 'a.db'));
  await kernel.shutdown();
  return { folder, spawned };
}

function copyCrashed(folder: string, to: string): void {
  copyFileSync(join(folder, 'a.db'), to);
  copyFileSync(join(folder, 'a.db-wal'), `${to}-wal`);
}

/** Turns over every bit of a stretch of the file. */
function overwrite(path: string, at: number, length: number): void {
  const file = openSync(path, 'r+');
  try {
    writeSync(file, Buffer.alloc(length, 0xa5), 0, length, at);
  } finally {
    closeSync(file);
  }
}

/** The byte offset of the first page of a table. */
function rootPage(path: string, table: string): number {
  const raw = new Database(path, { readonly: true });
  try {
    const page = raw.prepare('SELECT rootpage FROM sqlite_master WHERE name = ?').pluck().get(table);
    return (Number(page) - 1) * 4096;
  } finally {
    raw.close();
  }
}

function randomUpTo(bytes: number): number {
  return Math.floor(Math.random() * (bytes + 1));
}
