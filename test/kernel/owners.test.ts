import { describe, expect, it } from 'vitest';
import type { OwnerKeys } from '../../src/index.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, openKernel } from '../support/kernel.js';
import { eventsAfter, kernelFixture, lastSeq } from '../support/kernel-fixture.js';

const keys = ['session', 'turn', 'toolCall', 'terminal', 'extension', 'hook', 'sandbox', 'source'] as const;
const sources = ['acp_agent', 'acp_terminal', 'sandbox_terminal', 'hook', 'extension', 'subprocess', 'my own word'];

describe('the owner of a process', () => {
  it.each(keys)('has the key %s, which lists and signals select by', async (key) => {
    const { kernel, path } = await kernelFixture();
    const mine = await kernel.processes.spawn({ owner: { [key]: 'a' } });
    const other = await kernel.processes.spawn({ owner: { [key]: 'b' } });
    const both = await kernel.processes.spawn({ owner: { [key]: 'a', session: key === 'session' ? 'a' : 's' } });
    expect((await kernel.processes.get(mine)).owner).toEqual({ [key]: 'a' });
    const listed = await kernel.processes.list({ owner: { [key]: 'a' } });
    expect(listed.items.map(({ pid }) => pid)).toEqual([mine, both]);
    if (key !== 'session') {
      const narrower = await kernel.processes.list({ owner: { [key]: 'a', session: 's' } });
      expect(narrower.items.map(({ pid }) => pid)).toEqual([both]);
    }
    const report = await kernel.processes.signal({ owner: { [key]: 'a' } }, 'cancel');
    expect(report).toMatchObject({ matched: 2, delivered: [mine, both] });
    expect((await kernel.processes.get(other)).status).toBe('created');
    await checkInvariants(kernel, path);
  });

  it('takes the usual sources and words of the user', async () => {
    const { kernel } = await kernelFixture();
    for (const source of sources) {
      const pid = await kernel.processes.spawn({ owner: { source } });
      expect((await kernel.processes.list({ owner: { source } })).items.map((record) => record.pid)).toEqual([pid]);
    }
  });

  it('refuses other keys and values', async () => {
    const { kernel, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({ owner: { session: 'a' } });
    for (const owner of [{ user: 'x' }, { session: 5 }, { session: '' }, { source: 'x'.repeat(257) }, 'a', null]) {
      expect((await refused(() => kernel.processes.spawn({ owner: owner as OwnerKeys }))).code).toBe('INVALID_INPUT');
      expect((await refused(() => kernel.processes.setOwner(pid, owner as OwnerKeys))).code).toBe('INVALID_INPUT');
    }
    expect((await refused(() => kernel.processes.setOwner(pid, undefined as never))).code).toBe('INVALID_INPUT');
  });
});

describe('setOwner', () => {
  it('replaces all keys, and lists and signals follow it', async () => {
    const { kernel, path } = await kernelFixture();
    const pid = await kernel.processes.spawn({ owner: { session: 'a', turn: '1' }, labels: { team: 'x' } });
    await kernel.processes.setOwner(pid, { session: 'b', sandbox: 'box' });
    expect(await kernel.processes.get(pid)).toMatchObject({
      owner: { session: 'b', sandbox: 'box' },
      status: 'created',
    });
    expect((await kernel.processes.get(pid)).owner).not.toHaveProperty('turn');
    const count = async (owner: OwnerKeys) => (await kernel.processes.list({ owner })).items.length;
    expect([await count({ session: 'a' }), await count({ turn: '1' })]).toEqual([0, 0]);
    expect([await count({ session: 'b' }), await count({ sandbox: 'box' })]).toEqual([1, 1]);
    expect((await kernel.processes.list({ labels: { team: 'x' } })).items).toHaveLength(1);
    expect((await kernel.processes.signal({ owner: { session: 'a' } }, 'cancel')).matched).toBe(0);
    await kernel.processes.setOwner(pid, {});
    expect((await kernel.processes.get(pid)).owner).toEqual({});
    expect(await count({ session: 'b' })).toBe(0);
    await kernel.processes.setOwner(pid, { session: 'a' });
    expect((await kernel.processes.signal({ owner: { session: 'a' } }, 'cancel')).delivered).toEqual([pid]);
    await checkInvariants(kernel, path);
  });

  it('is on record, with the owner before it', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn({ owner: { session: 'a' } });
    const seq = await lastSeq(kernel);
    await kernel.processes.setOwner(pid, { turn: '2', source: 'hook' });
    expect(await eventsAfter(kernel, seq)).toEqual([['process.owned', pid]]);
    const { items } = await kernel.audit.list({ action: 'process.setOwner' });
    expect(items).toMatchObject([{ actor: 'host', target: pid, outcome: 'ok', facts: { keys: ['turn', 'source'] } }]);
    expect(items[0]?.payload).toEqual({ owner: { turn: '2', source: 'hook' }, before: { session: 'a' } });
  });

  it('is refused for a process that has ended or does not exist', async () => {
    const { kernel, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({ owner: { session: 'a' } });
    await kernel.processes.exit(pid);
    expect((await refused(() => kernel.processes.setOwner(pid, { session: 'b' }))).code).toBe('PROCESS_TERMINATED');
    expect((await refused(() => kernel.processes.setOwner('p_none', {}))).code).toBe('NO_SUCH_PROCESS');
    expect((await kernel.processes.get(pid)).owner).toEqual({ session: 'a' });
  });

  it('holds after a restart, and later changes of the row keep it', async () => {
    const store = await newStore();
    const first = await openKernel({ store });
    const pid = await first.processes.spawn({ owner: { session: 'a' } });
    await first.processes.setOwner(pid, { session: 'b' });
    await first.processes.pause(pid);
    await first.shutdown();
    const second = await openKernel({ store });
    expect((await second.processes.list({ owner: { session: 'b' } })).items.map((record) => record.pid)).toEqual([pid]);
    expect((await second.processes.signal({ owner: { session: 'b' } }, 'kill')).delivered).toEqual([pid]);
    expect((await second.processes.get(pid)).owner).toEqual({ session: 'b' });
  });
});
