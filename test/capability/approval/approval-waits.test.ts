import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CapabilitySpec, Kernel } from '../../../src/index.js';
import { trackCall, waitForPending } from '../../support/capability/pending-approvals.js';
import { callSearch, search } from '../../support/capability/two-roots.js';
import { checkInvariants } from '../../support/invariants.js';
import { refusal, tempFolder } from '../../support/kernel.js';
import { kernelFixture, worker } from '../../support/kernel-fixture.js';

const once = { decision: 'once', by: 'ann' } as const;
const deny = { decision: 'deny', by: 'ann' } as const;

/** Runs a call that a rule asks about, twice: it is refused when the answer is no, and done when the answer is yes. */
async function askedFor<T>(kernel: Kernel, call: () => Promise<T>, about: object): Promise<T> {
  const refused = trackCall(call());
  const first = await waitForPending(kernel);
  expect(first).toMatchObject(about);
  await kernel.approvals.answer(first.id, deny);
  expect(await refused.done).toMatchObject({ code: 'APPROVAL_DENIED' });
  const approved = call();
  const second = await waitForPending(kernel);
  await kernel.approvals.answer(second.id, once);
  const value = await approved;
  const { items } = await kernel.audit.list({ outcome: 'ok' });
  expect(items.filter(({ approval }) => approval === second.id).map(({ action }) => action)).toEqual([
    'approval.request',
    'approval.answer',
    expect.any(String),
  ]);
  return value;
}

describe('on the face of a process, an ask rule holds up', () => {
  it('a spawn of an image with these arguments, and the program of an exec', async () => {
    const { kernel, path } = await kernelFixture();
    const root = await kernel.processes.spawn({ image: 'worker' });
    await kernel.capabilities.ask(root, { resource: 'image:worker', rights: ['spawn'] });
    const face = kernel.as(root);
    const about = { pid: root, right: 'spawn', resource: 'image:worker', args: { env: 'prod' }, capability: null };
    const args = { env: 'prod' };
    const child = await askedFor(kernel, () => face.spawnChild({ image: 'worker', args }), about);
    expect((await kernel.processes.get(child)).parent).toBe(root);
    await askedFor(kernel, () => face.fork({ image: 'worker', args }), about);
    await askedFor(kernel, () => face.exec({ image: 'worker', args }), about);
    expect((await kernel.processes.get(root)).generation).toBe(2);
    expect(await kernel.processes.children(root)).toHaveLength(2);
    await checkInvariants(kernel, path);
  });

  it('a signal to a child and a wait for it', async () => {
    const { kernel, path } = await kernelFixture();
    const root = await kernel.processes.spawn({ image: 'worker' });
    const child = await kernel.processes.spawnChild(root, { image: 'worker' });
    await kernel.capabilities.ask(root, { resource: `process:${child}`, rights: ['signal', 'wait'] });
    const about = { pid: root, resource: `process:${child}`, args: {} };
    const signal = { ...about, right: 'signal', args: { signal: 'kill' }, capability: 'kin' };
    const report = await askedFor(kernel, () => kernel.as(root).kill(child), signal);
    expect(report.delivered).toEqual([child]);
    const result = await askedFor(kernel, () => kernel.as(root).wait(child), { ...about, right: 'wait' });
    expect(result.status).toBe('killed');
    await checkInvariants(kernel, path);
  });

  it('a working directory, for chdir and at a spawn', async () => {
    const workspace = tempFolder();
    mkdirSync(join(workspace, 'src'));
    const { kernel, path } = await kernelFixture({ workspace });
    const root = await kernel.processes.spawn({
      image: 'worker',
      capabilities: [{ resource: 'fs:**', rights: ['read'] }],
    });
    await kernel.capabilities.ask(root, { resource: 'fs:src', rights: ['read'] });
    const [own] = await kernel.capabilities.list(root);
    const about = { pid: root, right: 'read', resource: 'fs:src', capability: own?.id };
    expect(await askedFor(kernel, () => kernel.as(root).chdir('src'), about)).toBe('src');
    expect((await kernel.processes.get(root)).cwd).toBe('src');
    const child = await askedFor(kernel, () => kernel.as(root).spawnChild({ cwd: 'src' }), about);
    expect((await kernel.processes.get(child)).cwd).toBe('src');
    await checkInvariants(kernel, path);
  });

  it('reading an object; a wait then gives the handle and not what is in it', async () => {
    const { kernel, path } = await kernelFixture();
    const root = await kernel.processes.spawn({ image: 'worker' });
    const child = await kernel.processes.spawnChild(root, { image: 'base' });
    await kernel.processes.complete(child, { found: 1 });
    await kernel.capabilities.ask(root, { resource: `ns:process/${child}/**`, rights: ['read'] });
    const { result, value } = await kernel.processes.wait(root, child);
    expect([result?.id, value]).toEqual([expect.stringMatching(/^o_/), undefined]);
    const about = { pid: root, right: 'read', resource: `object:${result?.id}` };
    const read = await askedFor(kernel, () => kernel.as(root).memory.read(result ?? ''), about);
    expect(read.payload).toEqual({ found: 1 });
    expect((await refusal(kernel.memory.read(root, result ?? ''))).code).toBe('APPROVAL_PENDING');
    await checkInvariants(kernel, path);
  });

  it('handing on, where the rule is on the right `grant`, also at a spawn', async () => {
    const { kernel, path } = await kernelFixture();
    const root = await kernel.processes.spawn({ image: 'worker', capabilities: [search] });
    const child = await kernel.processes.spawnChild(root, { image: 'worker' });
    await kernel.capabilities.ask(root, { resource: 'tool:**', rights: ['grant'] });
    const about = { pid: root, right: 'grant', resource: 'tool:search' };
    const given = await askedFor(kernel, () => kernel.as(root).capabilities.delegate(child, callSearch), about);
    expect(given.holder).toBe(child);
    await kernel.capabilities.ask(root, { resource: `process:${child}`, rights: ['send'] });
    const twice = trackCall(kernel.as(root).capabilities.delegate(child, callSearch));
    for (const right of ['send', 'grant']) {
      const { id, ...question } = await waitForPending(kernel);
      expect(question).toMatchObject({ right });
      await kernel.approvals.answer(id, once);
    }
    expect(await twice.done).toMatchObject({ holder: child });
    const born = await askedFor(kernel, () => kernel.as(root).spawnChild({ delegate: [callSearch] }), about);
    expect((await kernel.capabilities.check(born, 'call', 'tool:search')).code).toBe('ALLOWED');
    await checkInvariants(kernel, path);
  });
});

describe('on the face of the host, acting for a process', () => {
  it('an ask rule is APPROVAL_PENDING, and the same call after the answer goes through', async () => {
    const { kernel, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({ image: 'worker', capabilities: [search] });
    const child = await kernel.processes.spawnChild(root, {});
    await kernel.processes.exit(child);
    const taker = await kernel.processes.spawnChild(root, {});
    await kernel.capabilities.ask('*', { resource: 'image:worker', rights: ['spawn'] });
    await kernel.capabilities.ask('*', { resource: 'process:**', rights: ['wait'] });
    await kernel.capabilities.ask('*', { resource: 'tool:**', rights: ['grant'] });
    const calls = [
      () => kernel.processes.spawnChild(root, { image: 'worker' }),
      () => kernel.processes.fork(root, {}),
      () => kernel.processes.exec(root, { image: 'worker', preserveCapabilities: true }),
      () => kernel.processes.wait(root, child),
      () => kernel.processes.waitAll(root, [child]),
      () => kernel.capabilities.delegate(root, taker, callSearch),
    ];
    for (const attempt of calls) {
      expect((await refusal(attempt())).code).toBe('APPROVAL_PENDING');
      const { id } = await waitForPending(kernel);
      expect(await refused(attempt)).toMatchObject({ code: 'APPROVAL_PENDING', facts: { approval: id } });
      await kernel.approvals.answer(id, once);
      await attempt();
    }
  });

  it('leaves its own acts alone: root spawns, signals and exits', async () => {
    const { kernel } = await kernelFixture();
    await kernel.capabilities.ask('*', { resource: 'image:**', rights: ['spawn'] });
    await kernel.capabilities.ask('*', { resource: 'process:**', rights: ['signal', 'wait'] });
    const root = await kernel.processes.spawn({ image: 'worker' });
    expect((await kernel.processes.pause(root)).delivered).toEqual([root]);
    await kernel.processes.exit(root);
    expect(await kernel.approvals.list({ status: 'any' })).toEqual([]);
  });
});

describe('giving', () => {
  it('to a process that an ask rule on the giver does not bind is refused, to one that it binds it is not', async () => {
    const { kernel, refused } = await kernelFixture();
    const root = await kernel.processes.spawn({ image: 'worker', capabilities: [search] });
    const child = await kernel.processes.spawnChild(root, {});
    const stranger = await kernel.processes.spawn({});
    const rule = await kernel.capabilities.ask(root, { resource: 'tool:**', rights: ['call'] });
    expect(await refused(() => kernel.capabilities.delegate(root, stranger, callSearch))).toMatchObject({
      code: 'CAPABILITY_DENIED',
      facts: { denies: [rule.id] },
    });
    await kernel.capabilities.delegate(root, child, callSearch);
    expect((await kernel.capabilities.check(child, 'call', 'tool:search')).code).toBe('ASK');
  });
});

describe('request', () => {
  const wanted: CapabilitySpec = {
    resource: 'tool:mail',
    rights: ['call'],
    constraints: { to: { eq: 'bob' } },
    uses: 2,
  };

  it('asks a person for a capability, which is then a root grant by that approval', async () => {
    const { kernel, path } = await kernelFixture({ images: [worker] });
    const root = await kernel.processes.spawn({});
    const pid = await kernel.processes.spawnChild(root, {});
    const request = kernel.as(pid).capabilities.request(wanted);
    const approval = await waitForPending(kernel);
    expect(approval).toMatchObject({ pid, lineage: [root], resource: 'tool:mail', right: 'call', request: wanted });
    expect(approval).toMatchObject({ capability: null, scopes: [] });
    const both = trackCall(kernel.as(pid).capabilities.request(wanted));
    await kernel.approvals.answer(approval.id, once);
    const granted = await request;
    expect(granted).toMatchObject({ ...wanted, holder: pid, parent: null, depth: 0, status: 'live' });
    expect(granted.grantedBy).toBe(`approval:${approval.id}`);
    expect((await kernel.approvals.get(approval.id)).granted).toBe(granted.id);
    expect(await kernel.capabilities.chain(granted.id)).toEqual([granted]);
    expect((await kernel.capabilities.require(pid, 'call', 'tool:mail', { to: 'bob' })).capability).toBe(granted.id);
    expect(both.state).toBe('waiting');
    await kernel.approvals.answer((await waitForPending(kernel)).id, deny);
    expect(await both.done).toMatchObject({ code: 'APPROVAL_DENIED' });
    await checkInvariants(kernel, path);
  });

  it('that is refused for good is not asked again, nor is what a rule forbids', async () => {
    const { kernel, path } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    const request = trackCall(kernel.as(pid).capabilities.request(wanted));
    const { id } = await waitForPending(kernel);
    const scoped = { decision: 'always', by: 'ann', scope: 'tree' } as const;
    expect((await refusal(kernel.approvals.answer(id, scoped))).code).toBe('INVALID_INPUT');
    await kernel.approvals.answer(id, { decision: 'deny-always', by: 'ann' });
    expect(await request.done).toMatchObject({ code: 'APPROVAL_DENIED' });
    expect((await refusal(kernel.as(pid).capabilities.request(wanted))).code).toBe('CAPABILITY_DENIED');
    expect(await kernel.capabilities.list(pid)).toHaveLength(1);
    await checkInvariants(kernel, path);
  });

  it('need not be waited for: the question stays, and the same request later gets its answer', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn();
    const { capabilities } = kernel.as(pid);
    const leaving = new AbortController();
    const left = trackCall(capabilities.request(wanted, { signal: leaving.signal }));
    const { id } = await waitForPending(kernel);
    leaving.abort();
    expect(await left.done).toMatchObject({ code: 'CANCELLED', facts: { pid, approval: id } });
    expect((await refusal(capabilities.request(wanted, { signal: AbortSignal.abort() }))).code).toBe('CANCELLED');
    expect((await kernel.approvals.list()).map((approval) => approval.id)).toEqual([id]);
    await kernel.approvals.answer(id, { decision: 'once', by: 'ann' });
    expect((await capabilities.request(wanted)).grantedBy).toBe(`approval:${id}`);
    expect((await refusal(capabilities.request(wanted, { signal: 5 as never }))).code).toBe('INVALID_INPUT');
  });

  it('is answered after a restart, and the same request then gets what was granted', async () => {
    const { kernel, path } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    const lost = trackCall(kernel.as(pid).capabilities.request(wanted));
    const { id } = await waitForPending(kernel);
    await kernel.shutdown();
    expect(await lost.done).toMatchObject({ code: 'KERNEL_CLOSED' });
    const again = (await kernelFixture({ store: path })).kernel;
    await again.approvals.answer(id, once);
    expect((await again.as(pid).capabilities.request(wanted)).grantedBy).toBe(`approval:${id}`);
    const more = trackCall(again.as(pid).capabilities.request(wanted));
    await waitForPending(again);
    expect(more.state).toBe('waiting');
  });

  it('of an ended process, and without form, is refused', async () => {
    const { kernel, refused } = await kernelFixture();
    const pid = await kernel.processes.spawn({});
    const bad = { resource: 'tool:a*', rights: ['call'] } as const;
    expect((await refused(() => kernel.as(pid).capabilities.request(bad))).code).toBe('INVALID_INPUT');
    await kernel.processes.exit(pid);
    expect((await refused(() => kernel.as(pid).capabilities.request(wanted))).code).toBe('PROCESS_TERMINATED');
  });
});
