import { describe, expect, it } from 'vitest';
import { checkInvariants } from '../support/invariants.js';
import { kernelFixture } from '../support/kernel-fixture.js';
import { openRawTables } from '../support/storage/raw-tables.js';

const everything = { endedBefore: Number.MAX_SAFE_INTEGER };

describe('prune', () => {
  it('removes the rows of ended processes and keeps their audit records and events', async () => {
    const { kernel, path, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const child = await kernel.processes.spawnChild(root, { labels: { a: 'b' } });
    await kernel.processes.charge(child, { tokens: 3 });
    await kernel.processes.signal(child, 'user.x');
    await kernel.processes.complete(child, 'x');
    await kernel.processes.wait(root, child);
    const later = await kernel.processes.spawn({});
    const before = await kernel.audit.list({ target: child });
    expect(await kernel.processes.prune(everything)).toEqual({ pruned: 1 });
    expect((await refused(() => kernel.processes.get(child))).code).toBe('NO_SUCH_PROCESS');
    expect(await kernel.processes.children(root)).toEqual([]);
    expect((await kernel.processes.list({ labels: { a: 'b' } })).items).toEqual([]);
    expect((await kernel.audit.list({ target: child })).items).toEqual(before.items);
    expect((await kernel.events.list({ pid: child })).items.length).toBeGreaterThan(0);
    expect((await kernel.processes.budget(root)).tokens.used).toBe(3);
    const { items } = await kernel.audit.list({ action: 'process.prune' });
    expect(items).toMatchObject([{ actor: 'host', outcome: 'ok', facts: { pids: [child] } }]);
    expect((await kernel.processes.list()).items.map(({ pid }) => pid)).toEqual([root, later]);
    await checkInvariants(kernel, path);
  });

  it('keeps what ended later, what lives, and the ended ancestors of what lives', async () => {
    const { kernel, path } = await kernelFixture();
    const root = await kernel.processes.spawn({ budget: { tokens: 10 } });
    const middle = await kernel.processes.spawnChild(root, {});
    const live = await kernel.processes.spawnChild(middle, { onParentExit: 'detach' });
    const gone = await kernel.processes.spawnChild(root, {});
    await kernel.processes.spawn({});
    await kernel.processes.exit(middle);
    await kernel.processes.exit(root);
    expect(await kernel.processes.prune({ endedBefore: 0 })).toEqual({ pruned: 0 });
    expect(await kernel.processes.prune(everything)).toEqual({ pruned: 1 });
    expect((await kernel.processes.list()).items.map(({ pid }) => pid)).not.toContain(gone);
    expect((await kernel.processes.get(middle)).status).toBe('exited');
    expect((await kernel.processes.charge(live, { tokens: 4 })).tokens.left).toBe(6);
    await checkInvariants(kernel, path);
    await kernel.processes.exit(live);
    expect(await kernel.processes.prune(everything)).toEqual({ pruned: 3 });
    await checkInvariants(kernel, path);
  });

  it('takes a deep tree and a wide one whole', async () => {
    const { kernel, path } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    let at = root;
    for (let level = 0; level < 20; level++) at = await kernel.processes.spawnChild(at, {});
    await Promise.all(Array.from({ length: 600 }, () => kernel.processes.spawnChild(root, {})));
    await kernel.processes.spawn({});
    await kernel.processes.kill(root);
    expect(await kernel.processes.prune(everything)).toEqual({ pruned: 621 });
    expect((await kernel.processes.list()).items.length).toBe(1);
    await checkInvariants(kernel, path);
  });

  it('frees the id of a pruned process for a new one, which has nothing of the old one', async () => {
    const { kernel, path, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({});
    const child = await kernel.processes.spawnChild(root, { id: 'a' });
    expect(await kernel.processes.spawnChild(root, { id: 'a' })).toBe(child);
    const job = await kernel.processes.spawn({ id: 'job', capabilities: [{ resource: 'tool:**', rights: ['call'] }] });
    await kernel.as(root).send(child, 'hello');
    await kernel.processes.signal(job, 'user.x');
    await kernel.capabilities.deny(job, { id: 'rule', resource: 'fs:**', rights: ['read'] });
    for (const pid of [child, job]) await kernel.processes.exit(pid);
    expect(await kernel.processes.prune(everything)).toEqual({ pruned: 2 });
    expect([await kernel.processes.find(root, 'a'), await kernel.processes.find(null, 'job')]).toEqual([
      undefined,
      undefined,
    ]);
    const again = await kernel.processes.spawnChild(root, { id: 'a', goal: 'x' });
    expect(again).not.toBe(child);
    expect((await refused(() => kernel.processes.spawnChild(root, { id: 'a' }))).code).toBe('CONFLICT');
    const other = await kernel.processes.spawn({ id: 'job', goal: 'another' });
    expect(await kernel.processes.spawn({ id: 'job', goal: 'another' })).toBe(other);
    expect((await kernel.processes.get(other)).status).toBe('created');
    expect(await kernel.capabilities.list(other)).toHaveLength(1);
    expect((await kernel.capabilities.check(other, 'call', 'tool:x')).code).toBe('NO_CAPABILITY');
    expect(await kernel.capabilities.rules(undefined, { all: true })).toEqual([]);
    await checkInvariants(kernel, path);
  });

  it('takes the newest process too, and never gives its place again', async () => {
    const { kernel, path } = await kernelFixture();
    const first = await kernel.processes.spawn({});
    await kernel.processes.exit(first);
    const tables = openRawTables(path);
    const rowNumber = async () => (await tables.rows<{ n: number }>('processes', 'n DESC'))[0]?.n;
    const before = await rowNumber();
    expect(await kernel.processes.prune(everything)).toEqual({ pruned: 1 });
    await kernel.processes.spawn({});
    expect(Number(await rowNumber())).toBeGreaterThan(Number(before));
    await checkInvariants(kernel, path);
  });

  it('refuses invalid options', async () => {
    const { kernel, refused } = await kernelFixture();
    for (const options of [undefined, {}, { endedBefore: -1 }, { endedBefore: 'now' }, { ...everything, more: 1 }]) {
      expect((await refused(() => kernel.processes.prune(options as never))).code).toBe('INVALID_INPUT');
    }
  });
});
