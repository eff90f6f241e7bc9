import { describe, expect, it, vi } from 'vitest';
import { RevocationSweep } from '../../../src/capability/holding/revocation-sweep.js';
import { callSearch, codeFor, search, twoRoots } from '../../support/capability/two-roots.js';
import { checkInvariants } from '../../support/invariants.js';
import { openKernel } from '../../support/kernel.js';
import { kernelFixture, manualClock } from '../../support/kernel-fixture.js';
import { copyStore } from '../../support/storage/copy-store.js';
import { rawSql } from '../../support/storage/raw-sql.js';

const below = { ...callSearch, delegable: true };

describe('revoke', () => {
  it('takes everything derived from it, across processes, and says what it took', async () => {
    const set = await twoRoots(search);
    const { kernel, giver, taker } = set;
    const third = await kernel.processes.spawn({});
    const first = await kernel.capabilities.delegate(giver, taker, below);
    const second = await kernel.capabilities.delegate(taker, third, callSearch);
    const root = first.parent ?? '';
    const report = await kernel.capabilities.revoke(root, { reason: 'over' });
    expect(report).toEqual({ capability: root, count: 3, holders: 3, sample: [root, first.id, second.id] });
    for (const pid of [giver, taker, third]) expect(await codeFor(set, pid)).toBe('REVOKED');
    const { items } = await kernel.audit.list({ action: 'capability.revoke' });
    expect(items).toMatchObject([{ actor: 'host', target: giver, capability: root, payload: { reason: 'over' } }]);
    await checkInvariants(kernel, set.path);
  });

  it('leaves what stands beside it and above it', async () => {
    const set = await twoRoots(search);
    const { kernel, giver, taker } = set;
    const third = await kernel.processes.spawn({});
    const one = await kernel.capabilities.delegate(giver, taker, callSearch);
    await kernel.capabilities.delegate(giver, third, callSearch);
    await kernel.capabilities.revoke(one.id);
    expect(await Promise.all([giver, taker, third].map((pid) => codeFor(set, pid)))).toEqual([
      'ALLOWED',
      'REVOKED',
      'ALLOWED',
    ]);
  });

  it('survives reopening', async () => {
    const set = await twoRoots(search);
    const { kernel, giver, taker } = set;
    const given = await kernel.capabilities.delegate(giver, taker, callSearch);
    await kernel.capabilities.revoke(given.parent ?? '');
    await kernel.shutdown();
    const again = await kernelFixture({ store: set.path });
    expect(await codeFor(again, taker)).toBe('REVOKED');
    expect((await again.kernel.capabilities.get(given.id)).status).toBe('revoked');
    await checkInvariants(again.kernel, set.path);
  });

  it('a second time changes nothing and says so', async () => {
    const { kernel, giver } = await twoRoots(search);
    const { id } = (await kernel.capabilities.list(giver))[1] ?? { id: '' };
    await kernel.capabilities.revoke(id);
    expect(await kernel.capabilities.revoke(id)).toEqual({ capability: id, count: 0, holders: 0, sample: [] });
    expect((await kernel.audit.list({ action: 'capability.revoke' })).items).toHaveLength(1);
  });

  it('refuses a capability that there is not', async () => {
    const { kernel, refused } = await twoRoots();
    expect((await refused(() => kernel.capabilities.revoke('c_none'))).code).toBe('NO_SUCH_CAPABILITY');
  });
});

describe('the statuses below a revoked capability', () => {
  const wide = 1_200;

  /** What had expired as well was EXPIRED from memory and, once it was marked, REVOKED from the rows. */
  it('change no decision, and no reason for it, when they follow', async () => {
    const clock = manualClock();
    const { kernel } = await kernelFixture({ clock });
    const giver = await kernel.processes.spawn({ image: 'worker', capabilities: [search] });
    const taker = await kernel.processes.spawn({});
    const given = await kernel.capabilities.delegate(giver, taker, { ...callSearch, expiresAt: clock.now() + 1 });
    clock.advance(1);
    const codes = async () => [
      (await kernel.capabilities.check(taker, 'call', 'tool:search')).code,
      (await kernel.capabilities.explain(taker, 'call', 'tool:search')).code,
      (await kernel.capabilities.get(given.id)).status,
    ];
    expect(await codes()).toEqual(['EXPIRED', 'EXPIRED', 'expired']);
    await kernel.capabilities.revoke(given.parent ?? '');
    expect(await codes()).toEqual(['REVOKED', 'REVOKED', 'revoked']);
    await kernel.container.get(RevocationSweep).waitUntilIdle();
    expect(await codes()).toEqual(['REVOKED', 'REVOKED', 'revoked']);
  });

  /** A root grant with many below it, one of them with one more. */
  async function fan() {
    const set = await twoRoots(search);
    const { kernel, giver, taker } = set;
    const third = await kernel.processes.spawn({});
    const given = await Promise.all(
      Array.from({ length: wide }, () => kernel.capabilities.delegate(giver, taker, below)),
    );
    const deep = await kernel.capabilities.delegate(taker, third, { ...callSearch, from: given[7]?.id ?? '' });
    return { ...set, root: given[0]?.parent ?? '', deep: deep.id, third };
  }

  it('follow in batches, each with its record, and are finished by shutdown', async () => {
    const { kernel, path, root, third, taker } = await fan();
    expect(await kernel.capabilities.revoke(root)).toMatchObject({ count: wide + 2, holders: 3 });
    expect((await kernel.capabilities.check(third, 'call', 'tool:search')).code).toBe('REVOKED');
    expect(await kernel.capabilities.list(taker)).toHaveLength(1);
    await kernel.shutdown();
    const again = await kernelFixture({ store: path });
    expect(await statuses(path)).toEqual([{ status: 'revoked', sweeping: null, n: wide + 2 }]);
    const { items } = await again.kernel.audit.list({ action: 'capability.sweep' });
    const batches = items.map(({ facts }) => (facts?.capabilities ?? []) as string[]);
    expect(Math.max(...batches.map((ids) => ids.length))).toBe(250);
    expect(new Set(batches.flat()).size).toBe(wide + 1);
    await checkInvariants(again.kernel, path);
  }, 60_000);

  it('are finished after a restart when a crash came between', async () => {
    const { kernel, path, root, deep, third } = await fan();
    vi.spyOn(kernel.container.get(RevocationSweep), 'wake').mockImplementation(() => undefined);
    await kernel.capabilities.revoke(root);
    const copy = await copyStore(path);
    expect((await statuses(copy)).find(({ status }) => status === 'live')?.n).toBe(wide + 1);
    const reopened = await openKernel({ store: copy });
    expect((await reopened.capabilities.check(third, 'call', 'tool:search')).code).toBe('REVOKED');
    await reopened.shutdown();
    expect(await statuses(copy)).toEqual([{ status: 'revoked', sweeping: null, n: wide + 2 }]);
    const last = await openKernel({ store: copy, node: { executor: false } });
    expect((await last.capabilities.get(deep)).status).toBe('revoked');
    await checkInvariants(last, copy);
  }, 60_000);

  function statuses(path: string): Promise<{ status: string; sweeping: number | null; n: number }[]> {
    return rawSql(
      path,
      `SELECT status, sweeping, count(*) AS n FROM capabilities
       WHERE resource LIKE 'tool:%' GROUP BY status, sweeping ORDER BY status, sweeping`,
    );
  }
});
