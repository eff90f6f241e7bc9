import { expect, it } from 'vitest';
import { MerkleFrontier } from '../../src/audit/merkle/merkle-frontier.js';
import { rootAt } from '../../src/audit/merkle/tiles.js';
import { zeroHash } from '../../src/audit/writing/record-encoding.js';
import { entry, fill, openAudit } from '../support/audit/audit-fixture.js';
import { newStore } from '../support/kernel.js';
import { rawSql } from '../support/storage/raw-sql.js';

it('numbers and chains the records of many units that commit together', async () => {
  const audit = await openAudit({ path: await newStore() });
  const units = Array.from({ length: 50 }, (_, n) =>
    audit.store.write(async (tx) => [audit.writer.append(tx, entry(n)), audit.writer.append(tx, entry(n))]),
  );
  const ids = (await Promise.all(units)).flat();
  const { items } = await audit.log.list({ limit: 1000 });
  expect(items.map(({ id }) => id)).toEqual(ids);
  expect(items.map(({ seq }) => seq)).toEqual(ids.map((_, n) => n + 1));
  expect(items.map(({ prev }) => prev)).toEqual([zeroHash, ...items.slice(0, -1).map(({ hash }) => hash)]);
});

it('leaves no gap for a unit that is refused', async () => {
  const audit = await openAudit({ path: await newStore() });
  const refused = audit.store.write(async (tx) => {
    audit.writer.append(tx, entry(1));
    throw new Error('refused');
  });
  const committed = audit.store.write(async (tx) => audit.writer.append(tx, entry(2)));
  await expect(refused).rejects.toMatchObject({ code: 'INTERNAL' });
  await committed;
  expect((await audit.log.list()).items).toMatchObject([{ seq: 1, target: 'p_child_2' }]);
  expect(await audit.log.verify()).toMatchObject({ ok: true, size: 1 });
});

it('refuses text without a canonical form with its own unit only', async () => {
  const audit = await openAudit({ path: await newStore() });
  const bad = audit.store.write(async (tx) => audit.writer.append(tx, entry(1, { target: '\udc00' })));
  const good = audit.store.write(async (tx) => audit.writer.append(tx, entry(2)));
  await expect(bad).rejects.toMatchObject({ name: 'StoreError' });
  await good;
  expect(await audit.log.verify()).toMatchObject({ ok: true, size: 1 });
});

it('continues the chain after it is reopened and beside another kernel', async () => {
  const path = await newStore();
  const first = await openAudit({ path, seed: 'first' });
  await fill(first, 300);
  const second = await openAudit({ path, seed: 'second' });
  await Promise.all([fill(first, 300), fill(second, 300)]);
  await first.store.close();
  const third = await openAudit({ path, seed: 'third' });
  await fill(third, 10);
  expect(await third.log.verify()).toMatchObject({ ok: true, size: 910, checked: 910 });
});

it('gives the same root to the same seed and calls, and another root to another seed', async () => {
  const roots: string[] = [];
  for (const seed of ['one', 'one', 'two']) {
    const audit = await openAudit({ seed });
    await fill(audit, 20);
    roots.push((await audit.log.checkpoint()).root);
  }
  expect(roots[0]).toBe(roots[1]);
  expect(roots[0]).not.toBe(roots[2]);
});

it('stores one inner node for every 256 records and finds every root from them', async () => {
  const path = await newStore();
  const audit = await openAudit({ path });
  await fill(audit, 1_100);
  const nodes = await rawSql(path, 'SELECT level, "index" FROM audit_nodes ORDER BY level, "index"');
  expect(nodes).toEqual([0, 1, 2, 3].map((index) => ({ level: 8, index })));
  const frontier = new MerkleFrontier();
  const { items } = await audit.log.list({ limit: 2_000 });
  for (const { hash, seq } of items) {
    frontier.add(hash);
    if (seq % 61 > 0 && seq % 256 > 1) continue;
    expect(await audit.store.read((tx) => rootAt(tx, audit.repository, seq))).toBe(frontier.root());
  }
});

it('stores an inner node of the second stored level after 65,536 records', async () => {
  const audit = await openAudit();
  for (let unit = 0; unit < 33; unit++) {
    await audit.store.write(async (tx) => {
      for (let n = 0; n < 2_000; n++) audit.writer.append(tx, entry(n));
    });
  }
  expect(await audit.store.read((tx) => audit.repository.newestNode(tx, 16))).toBe(0);
  const report = await audit.log.verify();
  expect(report).toMatchObject({ ok: true, checked: 66_000 });
  expect(await audit.log.verify({ from: 65_900 })).toMatchObject({ ok: true, checked: 101, root: report.root });
});

it('commits the intent and the outcome of an effect under one salt, and other records under their own', async () => {
  const path = await newStore();
  const audit = await openAudit({ path });
  await audit.store.write(async (tx) => {
    for (const outcome of ['intent', 'ok', 'intent'] as const) {
      audit.writer.append(tx, entry(1, { effectId: 'e1', outcome, resource: 'tool:a' }));
    }
    audit.writer.append(tx, entry(1, { resource: 'tool:a' }));
  });
  const rows = await rawSql<{ salt: Buffer }>(path, 'SELECT salt FROM audit_payloads ORDER BY seq');
  const salts = rows.map(({ salt }) => salt.toString('hex'));
  expect(salts[0]).toBe(salts[1]);
  expect(new Set(salts).size).toBe(3);
});
