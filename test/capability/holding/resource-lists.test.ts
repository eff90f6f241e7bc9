import { describe, expect, expectTypeOf, it } from 'vitest';
import { type Capability, type CapabilitySpec, defineImage, type Rule } from '../../../src/index.js';
import { checkInvariants } from '../../support/invariants.js';
import { kernelFixture } from '../../support/kernel-fixture.js';

const tools = ['tool:search', 'tool:fetch'] as const;
const call = { resource: tools, rights: ['call'] } as const;
const resourcesOf = (all: readonly { readonly resource: string }[]) => all.map(({ resource }) => resource);

describe('a list of resources', () => {
  it('is one root grant each, in one commit, and the answer is a list', async () => {
    const { kernel, path } = await kernelFixture();
    const pid = await kernel.processes.spawn();
    const granted = await kernel.capabilities.grant(pid, { ...call, uses: 1 });
    expectTypeOf(granted).toEqualTypeOf<Capability[]>();
    expect(resourcesOf(granted)).toEqual(tools);
    // Each has uses of its own.
    await kernel.capabilities.require(pid, 'call', 'tool:search');
    expect((await kernel.capabilities.get(granted[0]?.id ?? '')).uses).toBe(0);
    expect((await kernel.capabilities.check(pid, 'call', 'tool:search')).code).toBe('SPENT');
    expect((await kernel.capabilities.check(pid, 'call', 'tool:fetch')).code).toBe('ALLOWED');
    const { items } = await kernel.audit.list({ action: 'capability.grant' });
    expect(items.map(({ capability }) => capability)).toEqual(granted.map(({ id }) => id));
    await checkInvariants(kernel, path);
  });

  it('of one resource is a list too, and one resource is answered with one capability', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn();
    expect(await kernel.capabilities.grant(pid, { ...call, resource: ['tool:search'] })).toHaveLength(1);
    const single = await kernel.capabilities.grant(pid, { ...call, resource: 'tool:search' });
    expectTypeOf(single).toEqualTypeOf<Capability>();
    expect(single.resource).toBe('tool:search');
  });

  it('is delegated and derived whole, or not at all', async () => {
    const { kernel, path, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({ capabilities: [{ ...call, delegable: true }] });
    const child = await kernel.processes.spawnChild(pid, {});
    const before = (await kernel.capabilities.list(child)).length;
    const tooMuch = { ...call, resource: [...tools, 'tool:mail'] };
    for (const attempt of [
      () => kernel.capabilities.delegate(pid, child, tooMuch),
      () => kernel.as(pid).capabilities.delegate(child, tooMuch),
      () => kernel.capabilities.derive(pid, tooMuch),
    ]) {
      expect((await refused(attempt)).code).toBe('AMPLIFICATION');
    }
    expect((await kernel.capabilities.list(child)).length).toBe(before);
    const delegated = await kernel.capabilities.delegate(pid, child, { ...call, uses: 2 });
    expectTypeOf(delegated).toEqualTypeOf<Capability[]>();
    expect(delegated.map(({ holder, resource, uses }) => [holder, resource, uses])).toEqual([
      [child, 'tool:search', 2],
      [child, 'tool:fetch', 2],
    ]);
    const derived = await kernel.as(pid).capabilities.derive({ ...call, uses: 1 });
    expectTypeOf(derived).toEqualTypeOf<Capability[]>();
    expect(resourcesOf(derived)).toEqual(tools);
    await checkInvariants(kernel, path);
  });

  it('may stand in the specs of spawn, spawnChild and fork, and in what an image requires', async () => {
    const needy = defineImage({ name: 'needy', requires: [call], run: () => null });
    const { kernel, refused } = await kernelFixture({ images: [needy] });
    const pid = await kernel.processes.spawn({ capabilities: [{ ...call, delegable: true }] });
    const held = async (of: string) =>
      resourcesOf(await kernel.capabilities.list(of)).filter((resource) => resource.startsWith('tool:'));
    const child = await kernel.processes.spawnChild(pid, { delegate: [call] });
    const fork = await kernel.processes.fork(pid, { delegate: [call] });
    expect([await held(pid), await held(child), await held(fork)].map((all) => all.toSorted())).toEqual([
      ['tool:fetch', 'tool:search'],
      ['tool:fetch', 'tool:search'],
      ['tool:fetch', 'tool:search'],
    ]);
    const only = { ...call, resource: 'tool:search' };
    const spawn = () => kernel.processes.spawnChild(pid, { image: 'needy', delegate: [only] });
    expect((await refused(spawn)).code).toBe('CAPABILITY_DENIED');
    await kernel.processes.spawnChild(pid, { image: 'needy', delegate: [call] });
  });

  it('is refused whole where one is no pattern, or there is none', async () => {
    const { kernel, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn();
    for (const resource of [
      [],
      ['tool:search', 'nothing'],
      ['tool:search', 1],
      [['tool:search']],
      ['tool:a', 'fs:a'],
    ]) {
      const spec = { resource, rights: ['call'] } as unknown as CapabilitySpec;
      expect((await refused(() => kernel.capabilities.grant(pid, spec))).code).toBe('INVALID_INPUT');
      expect((await refused(() => kernel.capabilities.deny(pid, spec))).code).toBe('INVALID_INPUT');
    }
    expect(await kernel.capabilities.rules()).toEqual([]);
    expect((await kernel.capabilities.list(pid)).filter(({ grantedBy }) => grantedBy === 'host')).toEqual([]);
  });

  it('cannot be asked of a person: a request is about one', async () => {
    const { kernel, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn();
    const spec = call as unknown as CapabilitySpec;
    expect((await refused(() => kernel.as(pid).capabilities.request(spec))).code).toBe('INVALID_INPUT');
    expect(await kernel.approvals.list()).toEqual([]);
  });

  it('of a rule is one rule each, numbered under its id', async () => {
    const { kernel, path, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({ capabilities: [call] });
    const rules = await kernel.capabilities.deny(pid, { ...call, id: 'no-net' });
    expectTypeOf(rules).toEqualTypeOf<Rule[]>();
    expect(rules.map(({ id, resource }) => [id, resource])).toEqual([
      ['no-net#1', 'tool:search'],
      ['no-net#2', 'tool:fetch'],
    ]);
    expect(await kernel.capabilities.deny(pid, { ...call, id: 'no-net' })).toEqual(rules);
    for (const resource of ['tool:search', ['tool:search'], [...tools, 'tool:mail'], ['tool:search', 'tool:mail']]) {
      const another = { ...call, id: 'no-net', resource } as unknown as CapabilitySpec;
      expect((await refused(() => kernel.capabilities.deny(pid, another))).code).toBe('CONFLICT');
    }
    expect(await kernel.capabilities.rules(pid)).toEqual(rules);
    expect((await kernel.capabilities.check(pid, 'call', 'tool:fetch')).code).toBe('DENY_RULE');
    await kernel.capabilities.lift('no-net#2');
    expect((await kernel.capabilities.check(pid, 'call', 'tool:fetch')).code).toBe('ALLOWED');
    const unnamed = await kernel.capabilities.ask('*', call);
    expect(new Set(unnamed.map(({ id }) => id)).size).toBe(2);
    await checkInvariants(kernel, path);
  });
});
