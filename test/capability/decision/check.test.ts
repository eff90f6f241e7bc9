import { describe, expect, it } from 'vitest';
import type { Decision, Kernel, Pid } from '../../../src/index.js';
import { callSearch, codeFor, search, twoRoots } from '../../support/capability/two-roots.js';
import { openKernel } from '../../support/kernel.js';
import { kernelFixture, manualClock } from '../../support/kernel-fixture.js';

describe('a check, which is answered from memory', () => {
  it('knows of every change of this kernel as soon as the call that made it has resolved', async () => {
    const set = await twoRoots();
    const { kernel, giver, taker } = set;
    const codes = async () => [await codeFor(set, giver), await codeFor(set, taker)];
    expect(await codes()).toEqual(['NO_CAPABILITY', 'NO_CAPABILITY']);
    const root = await kernel.capabilities.grant(giver, { ...search, uses: 2 });
    expect(await codes()).toEqual(['ALLOWED', 'NO_CAPABILITY']);
    await kernel.capabilities.delegate(giver, taker, callSearch);
    expect(await codes()).toEqual(['ALLOWED', 'ALLOWED']);
    const rule = await kernel.capabilities.deny(taker, callSearch);
    expect(await codes()).toEqual(['ALLOWED', 'DENY_RULE']);
    await kernel.capabilities.lift(rule.id);
    await kernel.capabilities.require(taker, 'call', 'tool:search');
    expect(await codes()).toEqual(['ALLOWED', 'ALLOWED']);
    await kernel.capabilities.require(giver, 'call', 'tool:search');
    expect(await codes()).toEqual(['SPENT', 'SPENT']);
    const second = await kernel.capabilities.grant(giver, search);
    const third = await kernel.processes.spawn({});
    await kernel.capabilities.delegate(giver, taker, { ...callSearch, from: second.id });
    await kernel.capabilities.transfer(giver, third, second.id);
    expect([...(await codes()), await codeFor(set, third)]).toEqual(['SPENT', 'ALLOWED', 'ALLOWED']);
    await kernel.processes.exit(third);
    expect(await codes()).toEqual(['SPENT', 'SPENT']);
    await kernel.capabilities.revoke(root.id);
    expect(await codes()).toEqual(['REVOKED', 'REVOKED']);
  });

  it('knows it already in a listener of the event that tells of the change', async () => {
    const { kernel, giver } = await twoRoots(search);
    const [, held] = await kernel.capabilities.list(giver);
    const check = () => kernel.capabilities.check(giver, 'call', 'tool:search');
    expect((await check()).code).toBe('ALLOWED');
    const heard: Promise<Decision>[] = [];
    kernel.events.on('capability.revoked', () => void heard.push(check()));
    await kernel.capabilities.revoke(held?.id ?? '');
    expect((await Promise.all(heard)).map(({ code }) => code)).toEqual(['REVOKED']);
  });

  it('knows what a child leaves to its parent, and what exec takes', async () => {
    const { kernel } = await kernelFixture();
    const root = await kernel.processes.spawn({ image: 'worker', capabilities: [search] });
    const child = await kernel.processes.spawnChild(root, {});
    const reads = async () => (await kernel.capabilities.check(root, 'read', `ns:process/${child}/x`)).code;
    const waits = async () => (await kernel.capabilities.check(root, 'wait', `process:${child}`)).code;
    const calls = async () => (await kernel.capabilities.check(root, 'call', 'tool:search')).code;
    expect([await reads(), await waits(), await calls()]).toEqual(['NO_CAPABILITY', 'KIN', 'ALLOWED']);
    await kernel.processes.exit(child);
    expect([await reads(), await waits()]).toEqual(['ALLOWED', 'KIN']);
    await kernel.processes.exec(root, { image: 'worker' });
    expect([await reads(), await calls()]).toEqual(['REVOKED', 'REVOKED']);
  });

  it('refuses arguments that are not an object, whatever is held', async () => {
    const { kernel, giver, refused } = await twoRoots(search);
    for (const args of [5, 'x', null, [1], true]) {
      expect((await kernel.capabilities.check(giver, 'call', 'tool:search', args)).code).toBe('BAD_REQUEST');
      const require = () => kernel.capabilities.require(giver, 'call', 'tool:search', args);
      expect((await refused(require)).code).toBe('INVALID_INPUT');
    }
  });

  it('knows of expiry by the clock', async () => {
    const clock = manualClock();
    const set = await kernelFixture({ clock });
    const pid = await set.kernel.processes.spawn({ capabilities: [{ ...callSearch, expiresAt: clock.now() + 10 }] });
    expect(await codeFor(set, pid)).toBe('ALLOWED');
    clock.advance(10);
    expect(await codeFor(set, pid)).toBe('EXPIRED');
  });

  it('knows of changes that another kernel made on the same file, soon', async () => {
    const set = await kernelFixture({ node: { executor: false, pollMs: 5 } });
    const { kernel, path } = set;
    const other = await openKernel({ store: path, node: { executor: false, pollMs: 5 } });
    const pid = await kernel.processes.spawn({ image: 'worker', capabilities: [search] });
    const child = await kernel.processes.spawnChild(pid, { delegate: [callSearch] });
    const becomes = (code: string) => eventually(async () => (await codeFor(set, child)) === code);
    await becomes('ALLOWED');
    const rule = await other.capabilities.deny('*', callSearch);
    await becomes('DENY_RULE');
    await other.capabilities.lift(rule.id);
    await becomes('ALLOWED');
    const [, held] = await other.capabilities.list(pid);
    await other.capabilities.revoke(held?.id ?? '');
    await becomes('REVOKED');
    await other.capabilities.grant(child, { ...callSearch, uses: 1 });
    await becomes('ALLOWED');
    await other.capabilities.require(child, 'call', 'tool:search');
    await becomes('SPENT');
    await other.processes.exit(child);
    await becomes('PROCESS_ENDED');
  });

  it('is right while a long list is being read, and everything changes meanwhile', async () => {
    const { kernel, giver, taker } = await twoRoots();
    const many = Array.from({ length: 1_000 }, (_, n) => ({ resource: `tool:t${n}`, rights: ['call'] as const }));
    const busy = await kernel.processes.spawn({ capabilities: many });
    await Promise.all(many.map((spec) => kernel.capabilities.grant(busy, { ...spec, delegable: true })));
    const held = await kernel.capabilities.list(busy);
    const asking = Promise.all(many.map(({ resource }) => kernel.capabilities.check(busy, 'call', resource)));
    await Promise.all([
      ...held.filter(({ delegable }) => delegable).map(({ id }) => kernel.capabilities.revoke(id)),
      ...held.slice(0, 500).map(({ id }) => kernel.capabilities.revoke(id)),
      kernel.capabilities.deny(taker, callSearch),
      kernel.capabilities.grant(giver, callSearch),
    ]);
    const codes = new Set((await asking).map(({ code }) => code));
    expect([...codes].filter((code) => code !== 'ALLOWED' && code !== 'REVOKED')).toEqual([]);
    await agree(
      kernel,
      busy,
      many.slice(0, 200).map(({ resource }) => resource),
    );
  });
});

/** The decision from memory is the decision from the rows. */
async function agree(kernel: Kernel, pid: Pid, resources: readonly string[]): Promise<void> {
  for (const resource of resources) {
    const { code, capability } = await kernel.capabilities.explain(pid, 'call', resource);
    const checked = await kernel.capabilities.check(pid, 'call', resource);
    expect([checked.code, checked.capability]).toEqual([code, capability]);
  }
}

async function eventually(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 5));
}
