import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { ProcessError } from '../../src/base/errors.js';
import type { Channel, WriteTx } from '../../src/base/store.js';
import { SqlAuditRepository } from '../../src/storage/repository/sql-audit-repository.js';
import { Connection } from '../../src/storage/sqlite/connection.js';
import { SqliteStore } from '../../src/storage/sqlite/sqlite-store.js';
import { WriteUnit } from '../../src/storage/units/write-unit.js';
import { tempFolder } from '../support/kernel.js';

/** SQLite ends a transaction by itself when it meets a full disk, a failing one, or too little memory. */
describe('a transaction that SQLite has ended by itself', () => {
  it('refuses every unit of its group, and the units behind it go on in the next', async () => {
    const { store, put, keys, channel } = await open();
    const outcomes = await Promise.allSettled([
      store.write(async (tx) => put(tx, 'a').then(() => tx.defer(channel, 'a'))),
      store.write(async (tx) => put(tx, 'b').then(() => Promise.reject(new ProcessError('CONFLICT', 'own refusal')))),
      store.write(async (tx) => {
        await put(tx, 'c');
        endTransaction(tx);
        throw new ProcessError('CONFLICT', 'the disk failed');
      }),
      store.write(async (tx) => put(tx, 'd').then(() => tx.defer(channel, 'd'))),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected', 'fulfilled']);
    expect({ keys: await keys(), sealed: channel.sealed, committed: channel.committedItems }).toEqual({
      keys: ['d', 'sealed d'],
      sealed: [['d']],
      committed: [['d']],
    });
  });

  it('is noticed when the unit that met the error ignored it', async () => {
    const { store, put, keys, channel } = await open();
    const outcomes = await Promise.allSettled([
      store.write(async (tx) => put(tx, 'a').then(() => tx.defer(channel, 'a'))),
      store.write(async (tx) => endTransaction(tx)),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect({ keys: await keys(), sealed: channel.sealed }).toEqual({ keys: [], sealed: [] });
  });

  it('is noticed when it ends while the group is sealed', async () => {
    const { store, put, keys, channel } = await open();
    const ending: Channel<string, void> = { seal: async (tx) => endTransaction(tx), committed: () => undefined };
    const outcomes = await Promise.allSettled([
      store.write(async (tx) => put(tx, 'a').then(() => tx.defer(ending, 'a'))),
      store.write(async (tx) => tx.defer(channel, 'b')),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect({ keys: await keys(), committed: channel.committedItems }).toEqual({ keys: [], committed: [] });
    await store.write((tx) => put(tx, 'later'));
    expect(await keys()).toEqual(['later']);
  });
});

class RowChannel implements Channel<string, readonly string[]> {
  readonly sealed: (readonly string[])[] = [];
  readonly committedItems: (readonly string[])[] = [];

  constructor(private readonly put: (tx: WriteTx, id: string) => Promise<void>) {}

  async seal(tx: WriteTx, items: readonly string[]): Promise<readonly string[]> {
    this.sealed.push(items);
    for (const item of items) await this.put(tx, `sealed ${item}`);
    return items;
  }

  committed(items: readonly string[]): void {
    this.committedItems.push(items);
  }
}

function endTransaction(tx: WriteTx): void {
  if (!(tx instanceof WriteUnit && tx.connection instanceof Connection)) throw new Error('this is no SQLite store');
  tx.connection.raw.exec('ROLLBACK');
}

/** The clock stands still, so that units that wait together are one group however slow the machine is. */
function keepGroupsOpen(): void {
  const now = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => void clock.mockRestore());
}

async function open() {
  const path = join(tempFolder(), 'a.db');
  const store = new SqliteStore({ path, durability: 'normal', readOnly: false, pollMs: 250 });
  await store.open();
  onTestFinished(() => store.close());
  keepGroupsOpen();
  const rows = new SqlAuditRepository();
  const put = async (tx: WriteTx, id: string) => rows.insertKey(tx, { id, publicKey: id });
  const keys = async () => (await store.read((tx) => rows.keys(tx))).map(({ id }) => id).sort();
  return { store, put, keys, channel: new RowChannel(put) };
}
