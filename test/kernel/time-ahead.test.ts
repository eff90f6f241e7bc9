import { describe, expect, it } from 'vitest';
import { createKernel, type KernelOptions, type RuleSpec } from '../../src/index.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';

const hourMs = 3_600_000;
const search = { resource: 'tool:search', rights: ['call'] } as const;

describe('a store that is ahead of the clock', () => {
  /** The warnings of a kernel whose clock stands at `now`, on a store that was last written at `writtenAt`. */
  async function warningsOf(writtenAt: number, now: number, options: KernelOptions = {}): Promise<object[]> {
    const store = await newStore();
    const earlier = await createKernel({
      logger: 'silent',
      store,
      clock: { now: () => writtenAt },
      node: { executor: false },
    });
    await earlier.processes.spawn({});
    await earlier.shutdown();
    const warnings: object[] = [];
    const logger = { warn: (facts: object) => void warnings.push(facts), error: () => undefined };
    await openKernel({ store, clock: { now: () => now }, node: { executor: false }, logger, ...options });
    return warnings;
  }

  it('by more than an hour is told, with how far', async () => {
    const now = Date.now();
    const [warning, ...rest] = await warningsOf(now + 2 * hourMs, now);
    expect(rest).toEqual([]);
    expect(warning).toMatchObject({ aheadMs: expect.any(Number), newestAt: expect.any(Number) });
    expect((warning as { aheadMs: number }).aheadMs).toBeGreaterThan(hourMs);
  });

  it('by less, or behind it, is not', async () => {
    const now = Date.now();
    expect(await warningsOf(now + hourMs - 60_000, now)).toEqual([]);
    expect(await warningsOf(now - 48 * hourMs, now)).toEqual([]);
  });

  it('is told to one that only reads as well', async () => {
    const now = Date.now();
    expect(await warningsOf(now + 2 * hourMs, now, { readOnly: true })).toHaveLength(1);
  });
});

describe('what has expired already', () => {
  it.each([-60_000, -1, 0])('is refused wherever it is given, by %i ms', async (ms) => {
    const now = Date.now();
    const kernel = await openKernel({ clock: { now: () => now }, node: { executor: false } });
    const giver = await kernel.processes.spawn({
      capabilities: [{ ...search, delegable: true }],
      budget: { children: 5 },
    });
    const taker = await kernel.processes.spawnChild(giver, {});
    const expired = { ...search, expiresAt: now + ms };
    const rule: RuleSpec = { resource: 'tool:search', rights: ['call'], expiresAt: now + ms };
    const calls: [string, () => Promise<unknown>][] = [
      ['spec.expiresAt', () => kernel.capabilities.grant(taker, expired)],
      ['spec.expiresAt', () => kernel.capabilities.delegate(giver, taker, expired)],
      ['spec.expiresAt', () => kernel.as(giver).capabilities.delegate(taker, expired)],
      ['spec.expiresAt', () => kernel.as(giver).capabilities.derive(expired)],
      ['spec.expiresAt', () => kernel.as(taker).capabilities.request(expired)],
      ['spec.expiresAt', () => kernel.capabilities.deny(taker, rule)],
      ['spec.expiresAt', () => kernel.capabilities.ask('*', rule)],
      ['spec.capabilities.1.expiresAt', () => kernel.processes.spawn({ capabilities: [search, expired] })],
      ['spec.delegate.0.expiresAt', () => kernel.processes.spawnChild(giver, { delegate: [expired] })],
      ['spec.delegate.0.expiresAt', () => kernel.as(giver).fork({ delegate: [expired] })],
    ];
    const before = (await kernel.processes.list()).items.length;
    for (const [path, call] of calls) {
      expect([path, await refusal(call())]).toMatchObject([path, { code: 'INVALID_INPUT', facts: { path, now } }]);
    }
    expect((await kernel.processes.list()).items).toHaveLength(before);
    expect(await kernel.capabilities.rules()).toEqual([]);
    const later = { ...search, expiresAt: now + 1 };
    expect(await kernel.capabilities.grant(taker, later)).toMatchObject({ status: 'live' });
    expect(await kernel.capabilities.delegate(giver, taker, later)).toMatchObject({ status: 'live' });
  });
});
