import { statSync } from 'node:fs';
import Database from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { defineImage } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, openKernel } from '../support/kernel.js';
import { kernelFixture, manualClock } from '../support/kernel-fixture.js';
import { parentAndChildren } from '../support/memory/parent-and-children.js';
import { openRawTables } from '../support/storage/raw-tables.js';
import { isSqlite } from '../support/store-kind.js';

const everything = { endedBefore: Number.MAX_SAFE_INTEGER };
const large = (letter: string) => letter.repeat(5_000);
const anyTool = { resource: 'tool:**', rights: ['call'], delegable: true } as const;

/** Tables that a pruned process may have rows in. */
const tablesOfProcesses = [
  'processes',
  'process_tags',
  'registrations',
  'environments',
  'reaped',
  'user_signals',
  'accounts',
  'reservations',
  'capabilities',
  'rules',
  'approvals',
  'run_entries',
  'process_logs',
  'messages',
  'effects',
  'commands',
  'objects',
  'payloads',
  'object_versions',
  'overlays',
  'views',
  'view_entries',
  'links',
];

describe('prune', () => {
  it('leaves no row of a tree that has ended', async () => {
    const image = defineImage({
      name: 'busy',
      run: async (ctx) => {
        await ctx.step('one', () => 1);
        await ctx.memory.create({ type: 'claim', payload: large('b'), immutable: false });
        const fork = await ctx.fork({
          image: 'worker-2',
          mode: 'copy',
          delegate: [{ resource: 'tool:x', rights: ['call'] }],
        });
        await ctx.wait(fork);
        return large('r');
      },
    });
    const child = defineImage({
      name: 'worker-2',
      run: async (ctx) => {
        for (const { id, type } of (await ctx.memory.query()).items)
          if (type === 'claim') await ctx.memory.update(id, large('c'));
        return null;
      },
    });
    const store = await newStore();
    const kernel = await openKernel({ store, durability: 'normal', images: [image, child] });
    const pid = await kernel.processes.spawn({
      id: 'root',
      image: 'busy',
      held: true,
      env: { A: 'b' },
      labels: { a: 'b' },
      owner: { session: 's' },
      capabilities: [anyTool],
    });
    await kernel.capabilities.ask(pid, { resource: 'tool:mail', rights: ['call'] });
    await kernel.capabilities.require(pid, 'call', 'tool:mail').catch(() => undefined);
    await kernel.processes.signal(pid, 'user.hello');
    const made = await kernel.memory.create(pid, { type: 'claim', payload: 1, immutable: false });
    const other = await kernel.memory.create(pid, { type: 'claim', payload: 2, sources: [made] });
    await kernel.memory.link(pid, other, made, 'supports');
    await kernel.memory.update(pid, made, large('u'));
    await kernel.processes.resume(pid);
    expect((await kernel.processes.result(pid)).status).toBe('exited');
    const tables = openRawTables(store);
    const filled = async () => {
      const names: string[] = [];
      for (const table of tablesOfProcesses) if ((await tables.count(table)) > 0) names.push(table);
      return names;
    };
    expect((await filled()).length).toBeGreaterThan(14);
    expect(await kernel.processes.prune(everything)).toEqual({ pruned: 2 });
    expect(await filled()).toEqual([]);
    expect((await kernel.audit.verify()).ok).toBe(true);
    expect((await kernel.events.list({ pid })).items.length).toBeGreaterThan(0);
    expect((await kernel.memory.sweep()).reclaimed).toBe(0);
    await checkInvariants(kernel, store);
  });

  it('takes a process that has more than one unit removes', async () => {
    const { kernel, path } = await kernelFixture();
    const pid = await kernel.processes.spawn({ capabilities: [anyTool] });
    const resource = Array.from({ length: 1_000 }, (_, n) => `tool:t${n}`);
    const derived = await kernel.capabilities.derive(pid, { ...anyTool, resource });
    await kernel.capabilities.derive(pid, { ...anyTool, resource: 'tool:t0', from: derived[0]?.id ?? '' });
    const live = await kernel.processes.spawn({});
    const note = await kernel.memory.create(pid, { type: 'claim', payload: 0, immutable: false });
    for (let n = 1; n <= 450; n++) await kernel.memory.update(pid, note, n);
    await Promise.all(Array.from({ length: 900 }, (_, n) => kernel.memory.create(pid, { type: 'claim', payload: n })));
    await kernel.processes.exit(pid);
    expect(await kernel.processes.prune(everything)).toEqual({ pruned: 1 });
    const tables = openRawTables(path);
    const counted = ['capabilities', 'objects', 'object_versions', 'views'].map((table) => tables.count(table));
    expect(await Promise.all(counted)).toEqual([1, 1, 0, 1]);
    expect((await kernel.processes.get(live)).status).toBe('created');
    await checkInvariants(kernel, path);
  });

  it('finishes what an interrupted run has left', async () => {
    const { kernel, path } = await kernelFixture();
    const pid = await kernel.processes.spawn({ id: 'a', env: { A: 'b' }, capabilities: [anyTool] });
    await kernel.memory.create(pid, { type: 'claim', payload: large('x') });
    await kernel.processes.spawn({});
    await kernel.processes.exit(pid);
    const tables = openRawTables(path);
    const { n } = (await tables.find<{ n: number }>('processes', { pid })) ?? { n: 0 };
    await tables.delete('processes', { pid });
    await tables.delete('accounts', { n });
    // The id is free, and nothing of the old process belongs to the new one.
    const again = await kernel.processes.spawn({ id: 'a', goal: 'again' });
    expect(again).not.toBe(pid);
    await kernel.processes.exit(again);
    expect(await kernel.processes.prune(everything)).toEqual({ pruned: 1 });
    const owned = ['capabilities', 'objects', 'payloads', 'views', 'registrations', 'environments'];
    expect(await Promise.all(owned.map((table) => tables.count(table)))).toEqual([1, 1, 0, 1, 0, 0]);
    await checkInvariants(kernel, path, { edited: true });
  });

  it('leaves an environment that another process names', async () => {
    const { kernel, path } = await kernelFixture();
    const [one, two] = [
      await kernel.processes.spawn({ env: { A: 'b' } }),
      await kernel.processes.spawn({ env: { A: 'b' } }),
    ];
    await kernel.processes.exit(one);
    const tables = openRawTables(path);
    await kernel.processes.prune(everything);
    expect(await tables.count('environments')).toBe(1);
    await kernel.processes.exit(two);
    await kernel.processes.prune(everything);
    expect(await tables.count('environments')).toBe(0);
  });

  it('takes rows of nodes that ended over a day ago, and no others', async () => {
    const clock = manualClock();
    const { kernel, path } = await kernelFixture({ clock });
    const tables = openRawTables(path);
    const now = clock.now();
    const node = { epoch: 1, expires_at: 0, renewals: 0, host: '{}', started_at: 0 };
    const day = 86_400_000;
    await tables.insert('nodes', { ...node, id: 'old', ended_at: now - day - 1_000 });
    await tables.insert('nodes', { ...node, id: 'recent', ended_at: now - day + 60_000 });
    await tables.insert('nodes', { ...node, id: 'live', ended_at: null });
    await kernel.processes.prune({ endedBefore: 0 });
    expect((await tables.rows<{ id: string }>('nodes', 'id')).map(({ id }) => id)).toEqual(['live', 'recent']);
  });

  it('leaves the lineage of a pruned process to the log', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({ id: 'root', capabilities: [anyTool] });
    const delegate = [{ resource: 'tool:x', rights: ['call'] }] as const;
    const child = await kernel.processes.spawnChild(root, { goal: 'find it', delegate });
    await kernel.processes.complete(child, 'found');
    await kernel.processes.exit(root);
    const [before, above] = [await kernel.audit.lineage(child), await kernel.audit.lineage(root)];
    expect(await kernel.processes.prune(everything)).toEqual({ pruned: 2 });
    expect([await kernel.audit.lineage(child), await kernel.audit.lineage(root)]).toEqual([before, above]);
  });
});

describe('an object of a pruned process', () => {
  it('stays while somebody else holds it by a capability', async () => {
    const { kernel, path, parent, fork, create, read } = await parentAndChildren();
    const other = await kernel.processes.spawn({ image: 'worker' });
    const child = await fork();
    const [given, made] = [await create(child, large('g')), await create(child, large('m'))];
    const grant = await kernel.capabilities.grant(other, { resource: `object:${given.id}`, rights: ['read'] });
    await kernel.processes.exit(child);
    // The parent reads what its child made until it ends or merges.
    await kernel.processes.prune(everything);
    expect([await read(other, given), await read(parent, made)]).toEqual([large('g'), large('m')]);
    await checkInvariants(kernel, path);
    await kernel.processes.exit(parent);
    await kernel.processes.prune(everything);
    const tables = openRawTables(path);
    expect([await read(other, given), await tables.find('objects', { id: made.id })]).toEqual([large('g'), undefined]);
    await kernel.capabilities.revoke(grant.id);
    await kernel.processes.prune(everything);
    expect([await tables.find('objects', { id: given.id }), await tables.count('payloads')]).toEqual([undefined, 0]);
    await checkInvariants(kernel, path);
  });

  it('stays while it is in a view, and goes with the goal where it is not', async () => {
    const { kernel, path, parent, fork, create, read, inView } = await parentAndChildren();
    const child = await fork();
    const made = await create(child, 'made');
    await kernel.processes.exit(child);
    await kernel.memory.addToView(parent, made);
    await kernel.processes.prune(everything);
    expect([await inView(parent), await read(parent, made)]).toEqual([expect.arrayContaining([made.id]), 'made']);
    expect(await openRawTables(path).find('objects', { created_by: child, type: 'goal' })).toBeUndefined();
    await checkInvariants(kernel, path);
  });

  it('stays while an object that stays was made from it, or links to it', async () => {
    const { kernel, path, fork, create } = await parentAndChildren();
    const team = { resource: 'ns:team/**', rights: ['read', 'create', 'link', 'write'], delegable: true } as const;
    const root = await kernel.processes.spawn({ image: 'worker', capabilities: [team] });
    const child = await kernel.processes.spawnChild(root, { image: 'worker', delegate: [team] });
    const [source, deeper, linked, unrelated] = [
      await create(child, 'source'),
      await create(child, 'deeper'),
      await create(child, 'linked'),
      await create(child, 'unrelated'),
    ];
    const derived = await create(child, 'derived', { sources: [deeper] });
    const shared = await create(child, 'shared', { namespace: 'team', sources: [source, derived] });
    await kernel.memory.link(child, shared, linked, 'supports');
    await kernel.memory.link(child, unrelated, shared, 'supports');
    await kernel.processes.kill(root);
    await kernel.processes.prune(everything);
    const left = new Set((await openRawTables(path).rows<{ id: string }>('objects')).map(({ id }) => id));
    expect([source, deeper, linked, derived, shared, unrelated].map(({ id }) => left.has(id))).toEqual([
      true,
      true,
      true,
      true,
      true,
      false,
    ]);
    expect(await fork()).toBeDefined();
    await checkInvariants(kernel, path);
  });

  it('stays while it is the result of a process that is there', async () => {
    const { kernel, path, parent, fork, create } = await parentAndChildren();
    const child = await fork();
    const result = await create(child, large('r'));
    await kernel.processes.exit(child);
    await kernel.processes.exit(parent, { result });
    const ended = await kernel.processes.get(child);
    const between = (ended.exitedAt ?? 0) + 1;
    await kernel.processes.prune({ endedBefore: Math.max(between, 1) });
    if ((await kernel.processes.list()).items.some(({ pid }) => pid === parent))
      expect((await kernel.processes.result(parent)).value).toBe(large('r'));
    await kernel.processes.prune(everything);
    expect(await openRawTables(path).count('payloads')).toBe(0);
  });
});

describe.runIf(isSqlite)('the file', () => {
  const make = async (store: string, count: number) => {
    const kernel = await openKernel({ store, durability: 'normal', node: { executor: false } });
    for (let made = 0; made < count; made += 500) {
      const root = await kernel.processes.spawn({});
      await Promise.all(
        Array.from({ length: 499 }, () => kernel.processes.spawnChild(root, { goal: 'x'.repeat(200) })),
      );
      await kernel.processes.kill(root);
    }
    return kernel;
  };
  /** The bytes of all tables and indexes but those of events and the audit log. */
  const bytesOf = (store: string) => {
    const db = new Database(store, { readonly: true });
    try {
      const sql = "SELECT sum(pgsize) FROM dbstat WHERE name NOT LIKE '%event%' AND name NOT LIKE '%audit%'";
      return Number(db.prepare(sql).pluck().get());
    } finally {
      db.close();
    }
  };
  const pagesOf = (store: string) => {
    const db = new Database(store, { readonly: true });
    try {
      const pragma = (name: string) => Number(db.pragma(name, { simple: true }));
      return { pages: pragma('page_count'), free: pragma('freelist_count'), mode: pragma('auto_vacuum') };
    } finally {
      db.close();
    }
  };

  it('is smaller after prune, and has no free pages', async () => {
    const store = await newStore();
    const kernel = await make(store, 2_000);
    const [bytes, { pages, mode }] = [bytesOf(store), pagesOf(store)];
    expect(mode).toBe(2);
    await kernel.processes.prune(everything);
    expect(bytesOf(store)).toBeLessThan(bytes / 5);
    const after = pagesOf(store);
    expect([after.free, after.pages < pages]).toEqual([0, true]);
    await kernel.shutdown();
    expect(statSync(store).size).toBe(pagesOf(store).pages * 4096);
  });

  it('of an earlier release is compacted on request, when no node lives', async () => {
    const store = await newStore();
    const db = new Database(store);
    db.exec('PRAGMA auto_vacuum = NONE; PRAGMA application_id = 0');
    db.exec('CREATE TABLE x (y)');
    db.exec('DROP TABLE x');
    db.close();
    const kernel = await make(store, 500);
    expect(pagesOf(store).mode).toBe(0);
    await kernel.processes.prune(everything);
    expect(pagesOf(store).free).toBeGreaterThan(0);
    const node = await openKernel({ store, durability: 'normal' });
    const error = await kernel.processes.prune({ ...everything, compact: true }).catch((thrown) => thrown);
    expect([error.code, error.facts]).toEqual(['CONFLICT', { nodes: [node.nodeId] }]);
    await node.shutdown();
    await kernel.processes.prune({ ...everything, compact: true });
    expect(pagesOf(store)).toMatchObject({ mode: 2, free: 0 });
    const pid = await kernel.processes.spawn({});
    expect((await kernel.processes.get(pid)).status).toBe('created');
    expect((await kernel.audit.verify()).ok).toBe(true);
  });
});
