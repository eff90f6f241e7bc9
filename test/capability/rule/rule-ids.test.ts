import { describe, expect, it } from 'vitest';
import type { RuleSpec } from '../../../src/index.js';
import { checkInvariants } from '../../support/invariants.js';
import { kernelFixture, manualClock } from '../../support/kernel-fixture.js';

const noSearch = { id: 'no-search', resource: 'tool:search', rights: ['call'] } as const;

describe('a rule with an id', () => {
  it('is the same rule when it is set again, also by another kernel', async () => {
    const { kernel, path } = await kernelFixture();
    const pid = await kernel.processes.spawn();
    const rule = await kernel.capabilities.deny(pid, { ...noSearch, reason: 'audit' });
    expect(rule).toMatchObject({ id: 'no-search', effect: 'deny', pid, reason: 'audit' });
    expect(await kernel.capabilities.deny(pid, { ...noSearch, reason: 'audit' })).toEqual(rule);
    await kernel.shutdown();
    const again = (await kernelFixture({ store: path })).kernel;
    expect(await again.capabilities.deny(pid, { ...noSearch, resource: 'tool:search', reason: 'audit' })).toEqual(rule);
    expect(await again.capabilities.rules()).toEqual([rule]);
    expect((await again.audit.list({ action: 'capability.deny' })).items).toHaveLength(1);
    expect((await again.events.list({ types: ['rule.set'] })).items).toHaveLength(1);
    await checkInvariants(again, path);
  });

  it('is refused as another rule: effect, process, resource, rights, reason, expiry', async () => {
    const { kernel, refused } = await kernelFixture();
    const [pid, other] = [await kernel.processes.spawn(), await kernel.processes.spawn()];
    const rule = await kernel.capabilities.ask(pid, noSearch);
    for (const attempt of [
      () => kernel.capabilities.deny(pid, noSearch),
      () => kernel.capabilities.ask(other, noSearch),
      () => kernel.capabilities.ask('*', noSearch),
      () => kernel.capabilities.ask(pid, { ...noSearch, resource: 'tool:**' }),
      () => kernel.capabilities.ask(pid, { ...noSearch, rights: ['call', 'grant'] }),
      () => kernel.capabilities.ask(pid, { ...noSearch, reason: 'other' }),
      () => kernel.capabilities.ask(pid, { ...noSearch, expiresAt: Date.now() + 60_000 }),
    ]) {
      const { code, facts } = await refused(attempt);
      expect([code, facts]).toMatchObject(['CONFLICT', { id: 'no-search' }]);
    }
    expect(await kernel.capabilities.rules()).toEqual([rule]);
    await kernel.capabilities.lift('no-search');
    expect((await kernel.capabilities.deny(other, noSearch)).pid).toBe(other);
  });

  it('must be an id', async () => {
    const { kernel, refused } = await kernelFixture();
    for (const id of ['', 'a#1', ' a', 'a b', 'x'.repeat(129), 1]) {
      const spec = { ...noSearch, id } as unknown as RuleSpec;
      expect((await refused(() => kernel.capabilities.deny('*', spec))).code).toBe('INVALID_INPUT');
    }
  });
});

describe('rules', () => {
  it('shows those that can still bind, and with `all` the others too', async () => {
    const clock = manualClock();
    const { kernel, refused } = await kernelFixture({ clock });
    const [live, ended, parent] = [
      await kernel.processes.spawn(),
      await kernel.processes.spawn(),
      await kernel.processes.spawn(),
    ];
    const child = await kernel.processes.spawnChild(parent, { onParentExit: 'detach' });
    const set = (pid: string, id: string, rest = {}) => kernel.capabilities.deny(pid, { ...noSearch, id, ...rest });
    await set('*', 'for-all');
    await set(live, 'on-live');
    await set(live, 'expired', { expiresAt: clock.now() + 1_000 });
    await set(ended, 'on-ended');
    await set(parent, 'on-ended-parent');
    await kernel.processes.exit(ended);
    await kernel.processes.exit(parent);
    clock.advance(2_000);
    const ids = async (...args: Parameters<typeof kernel.capabilities.rules>) =>
      (await kernel.capabilities.rules(...args)).map(({ id }) => id);
    // A child that was spawned under it still lives.
    expect(await ids()).toEqual(['for-all', 'on-live', 'on-ended-parent']);
    expect([await ids(live), await ids(ended), await ids('*')]).toEqual([['on-live'], [], ['for-all']]);
    const all = ['for-all', 'on-live', 'expired', 'on-ended', 'on-ended-parent'];
    expect([await ids(undefined, { all: true }), await ids(ended, { all: true })]).toEqual([all, ['on-ended']]);
    expect(await ids(live, { all: false })).toEqual(['on-live']);
    await kernel.processes.exit(child);
    expect(await ids()).toEqual(['for-all', 'on-live']);
    await kernel.capabilities.lift('on-ended');
    const options = { every: true } as never;
    expect((await refused(() => kernel.capabilities.rules(undefined, options))).code).toBe('INVALID_INPUT');
  });
});
