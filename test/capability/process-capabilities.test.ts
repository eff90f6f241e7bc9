import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { callSearch, codeFor, search, twoRoots } from '../support/capability/two-roots.js';
import { checkInvariants } from '../support/invariants.js';
import { tempFolder } from '../support/kernel.js';
import { kernelFixture } from '../support/kernel-fixture.js';

describe('the capabilities of a process face', () => {
  it('derives, and delegates to a child and to the parent, on record as its own', async () => {
    const set = await twoRoots(search);
    const { kernel, giver } = set;
    const child = await kernel.processes.spawnChild(giver, {});
    const down = await kernel.as(giver).capabilities.delegate(child, { ...callSearch, delegable: true });
    await kernel.as(giver).capabilities.derive({ ...callSearch, uses: 1 });
    await kernel.capabilities.grant(child, { resource: 'fs:a', rights: ['read'], delegable: true });
    await kernel.as(child).capabilities.delegate(giver, { resource: 'fs:a', rights: ['read'] });
    expect(down.holder).toBe(child);
    expect((await kernel.capabilities.check(giver, 'read', 'fs:a')).code).toBe('ALLOWED');
    const { items } = await kernel.audit.list({ actor: giver, outcome: 'ok' });
    expect(items.map(({ action, via }) => [action, via])).toEqual([
      ['process.spawnChild', expect.stringMatching(/^host:/)],
      ['capability.delegate', 'process'],
      ['capability.derive', 'process'],
    ]);
    await checkInvariants(kernel, set.path);
  });

  it('refuses a stranger and nobody alike, until the giver may send to it', async () => {
    const { kernel, giver, taker, refused } = await twoRoots(search);
    const face = kernel.as(giver).capabilities;
    for (const to of [taker, 'p_none']) {
      expect(await refused(() => face.delegate(to, callSearch))).toEqual({
        code: 'CAPABILITY_DENIED',
        facts: { pid: giver, to, right: 'send', resource: `process:${to}` },
      });
    }
    const { items } = await kernel.events.list({ limit: 1_000 });
    const denied = items.filter(({ type }) => type === 'capability.denied');
    expect(denied.map(({ pid }) => pid)).toEqual([giver, giver]);
    await kernel.capabilities.grant(giver, { resource: 'process:*', rights: ['send'] });
    expect((await face.delegate(taker, callSearch)).holder).toBe(taker);
    expect((await refused(() => face.delegate('p_none', callSearch))).code).toBe('CAPABILITY_DENIED');
  });

  it('revokes its own, and what came from it at any depth', async () => {
    const set = await twoRoots(search);
    const { kernel, giver, taker } = set;
    const third = await kernel.processes.spawn({});
    const given = await kernel.capabilities.delegate(giver, taker, { ...callSearch, delegable: true });
    const further = await kernel.capabilities.delegate(taker, third, callSearch);
    expect(await kernel.as(giver).capabilities.revoke(further.id)).toMatchObject({ count: 1 });
    expect(await codeFor(set, third)).toBe('REVOKED');
    await kernel.as(giver).capabilities.revoke(given.parent ?? '');
    expect(await codeFor(set, giver)).toBe('REVOKED');
    await checkInvariants(kernel, set.path);
  });

  it('refuses to revoke what somebody else holds or gave it, and nothing, alike', async () => {
    const { kernel, giver, taker, refused } = await twoRoots(search);
    const given = await kernel.capabilities.delegate(giver, taker, callSearch);
    for (const id of [given.parent ?? '', 'c_none']) {
      const answer = await refused(() => kernel.as(taker).capabilities.revoke(id));
      expect(answer).toEqual({ code: 'NO_SUCH_CAPABILITY', facts: { capability: id } });
    }
    await kernel.processes.exit(taker);
    const late = await refused(() => kernel.as(taker).capabilities.revoke(given.id));
    expect(late.code).toBe('PROCESS_TERMINATED');
  });

  it('sees its own part of a chain, and of a rule only that there is one', async () => {
    const { kernel, giver, taker } = await twoRoots(search);
    const given = await kernel.capabilities.delegate(giver, taker, callSearch);
    const own = await kernel.as(taker).capabilities.explain('call', 'tool:search');
    expect(own.chain?.map(({ id }) => id)).toEqual([given.id]);
    const all = await kernel.capabilities.explain(taker, 'call', 'tool:search');
    expect(all.chain?.map(({ holder }) => holder)).toEqual([taker, giver]);
    const rule = await kernel.capabilities.deny(taker, callSearch);
    const told = await kernel.as(taker).capabilities.explain('call', 'tool:search');
    expect(told).toMatchObject({ code: 'DENY_RULE', denies: [] });
    expect(JSON.stringify(told)).not.toContain(rule.id);
  });

  it('takes a use of what it reaches a receiver by, and the record names it', async () => {
    const { kernel, giver, taker, path } = await twoRoots(search);
    const reach = await kernel.capabilities.grant(giver, { resource: `process:${taker}`, rights: ['send'], uses: 1 });
    await kernel.as(giver).capabilities.delegate(taker, callSearch);
    const { items } = await kernel.audit.list({ action: 'capability.delegate' });
    expect(items).toMatchObject([{ facts: { reachedBy: reach.id } }]);
    const again = await kernel
      .as(giver)
      .capabilities.delegate(taker, callSearch)
      .catch(({ code }) => code);
    expect(again).toBe('CAPABILITY_DENIED');
    await checkInvariants(kernel, path);
  });

  it('is not told where links lead', async () => {
    const workspace = tempFolder();
    mkdirSync(join(workspace, 'hidden-place'));
    symlinkSync('hidden-place', join(workspace, 'link'));
    symlinkSync('/', join(workspace, 'out'));
    const { kernel } = await kernelFixture({ workspace });
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'fs:link/**', rights: ['read'] }] });
    const face = kernel.as(pid).capabilities;
    for (const resource of ['fs:link/a', 'fs:out/a', 'fs:other/a']) {
      const told = [await face.check('read', resource), await face.explain('read', resource)];
      expect(JSON.stringify(told)).not.toMatch(/hidden-place|out of the workspace/);
      expect(told.map(({ code }) => code)).toEqual(['NO_CAPABILITY', 'NO_CAPABILITY']);
    }
    expect((await kernel.capabilities.check(pid, 'read', 'fs:link/a')).reason).toContain('hidden-place');
    expect((await kernel.capabilities.check(pid, 'read', 'fs:out/a')).reason).toContain('out of the workspace');
  });
});
