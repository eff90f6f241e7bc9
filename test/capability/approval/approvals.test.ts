import { describe, expect, it } from 'vitest';
import type { Approval, Kernel, Pid } from '../../../src/index.js';
import { trackCall, waitForApprovals, waitForPending } from '../../support/capability/pending-approvals.js';
import { callSearch, codeFor, search } from '../../support/capability/two-roots.js';
import { checkInvariants } from '../../support/invariants.js';
import { openKernel, refusal } from '../../support/kernel.js';
import { type KernelFixture, kernelFixture, manualClock } from '../../support/kernel-fixture.js';
import { queuedCalls } from '../../support/queued-calls.js';

const ann = { by: 'ann' } as const;
const allTools = { resource: 'tool:**', rights: ['call'] } as const;

interface Asking extends KernelFixture {
  readonly root: Pid;
  readonly child: Pid;
  readonly grandchild: Pid;
}

/** Three generations that hold the tool; a rule on the topmost wants a person to be asked. */
async function asking(options: Parameters<typeof kernelFixture>[0] = {}): Promise<Asking> {
  const set = await kernelFixture(options);
  const { processes, capabilities } = set.kernel;
  const root = await processes.spawn({ image: 'worker', capabilities: [search] });
  const child = await processes.spawnChild(root, { image: 'worker', delegate: [{ ...callSearch, delegable: true }] });
  const grandchild = await processes.spawnChild(child, { image: 'worker', delegate: [callSearch] });
  await capabilities.ask(root, { ...allTools, reason: 'a person looks at every call' });
  return { ...set, root, child, grandchild };
}

const use = (kernel: Kernel, pid: Pid, args = { q: 'x' }) =>
  kernel.capabilities.require(pid, 'call', 'tool:search', args);
const ask = (kernel: Kernel, pid: Pid, args = { q: 'x' }) =>
  kernel.as(pid).capabilities.require('call', 'tool:search', args);

describe('a call that a rule asks about', () => {
  it('reaches the queue with the inner call and the lineage, waits, and goes through when it is approved', async () => {
    const { kernel, path, root, child, grandchild } = await asking();
    const parked = trackCall(ask(kernel, grandchild));
    const approval = await waitForPending(kernel);
    const [, held] = await kernel.capabilities.list(grandchild);
    const chain = (await kernel.capabilities.chain(held?.id ?? '')).map(({ id }) => id);
    const [rule] = await kernel.capabilities.rules(root);
    expect(approval).toEqual({
      id: expect.stringMatching(/^v_/),
      pid: grandchild,
      lineage: [child, root],
      right: 'call',
      resource: 'tool:search',
      args: { q: 'x' },
      capability: held?.id,
      chain,
      rules: [rule?.id],
      status: 'pending',
      scopes: ['args', 'resource', 'tree'],
      createdAt: expect.any(Number),
    });
    expect(parked.state).toBe('waiting');
    expect((await kernel.processes.get(grandchild)).status).toBe('runnable');
    await kernel.approvals.answer(approval.id, { decision: 'once', ...ann });
    expect(await parked.done).toMatchObject({ effect: 'allow', code: 'ALLOWED', capability: held?.id });
    const answered = { ...approval, status: 'answered', decision: 'once', by: 'ann', answeredAt: expect.any(Number) };
    expect(await kernel.approvals.get(approval.id)).toEqual(answered);
    expect(await kernel.approvals.list()).toEqual([]);
    const { items } = await kernel.audit.list({ target: grandchild });
    expect(items.slice(1).map(({ action, actor, approval: id }) => [action, actor, id])).toEqual([
      ['approval.request', grandchild, approval.id],
      ['approval.answer', 'host', approval.id],
      ['capability.require', grandchild, approval.id],
    ]);
    await checkInvariants(kernel, path);
  });

  it('is told to the host as APPROVAL_PENDING, and the same call after the answer goes through', async () => {
    const { kernel, path, child } = await asking();
    const first = await refusal(use(kernel, child));
    expect(first).toMatchObject({ code: 'APPROVAL_PENDING', facts: { pid: child, right: 'call', code: 'ASK' } });
    const approval = await waitForPending(kernel);
    expect(await refusal(use(kernel, child))).toEqual(first);
    expect(first.facts).toMatchObject({ approval: approval.id });
    await kernel.approvals.answer(approval.id, { decision: 'once', ...ann });
    expect((await use(kernel, child)).effect).toBe('allow');
    expect((await refusal(use(kernel, child))).code).toBe('APPROVAL_PENDING');
    expect((await waitForPending(kernel)).id).not.toBe(approval.id);
    await checkInvariants(kernel, path);
  });

  it('does not stop others: siblings and other calls go on', async () => {
    const { kernel, child } = await asking();
    const free = await kernel.processes.spawn({ capabilities: [search] });
    const sibling = await kernel.processes.spawnChild(child, { delegate: [callSearch] });
    const one = trackCall(ask(kernel, child));
    const two = trackCall(ask(kernel, sibling));
    expect((await use(kernel, free)).effect).toBe('allow');
    await kernel.processes.charge(child, { tokens: 1 });
    const first = (await waitForApprovals(kernel, 2)).find(({ pid }) => pid === sibling);
    await kernel.approvals.answer(first?.id ?? '', { decision: 'once', ...ann });
    expect(await two.done).toMatchObject({ effect: 'allow' });
    expect(one.state).toBe('waiting');
    await kernel.processes.exit(child);
    expect(await one.done).toMatchObject({ code: 'CAPABILITY_DENIED' });
  });

  it('is shown as such by check and explain, which never wait', async () => {
    const set = await asking();
    const { kernel, root, child } = set;
    const [rule] = await kernel.capabilities.rules(root);
    const decision = await kernel.capabilities.check(child, 'call', 'tool:search');
    const [, held] = await kernel.capabilities.list(child);
    expect(decision).toMatchObject({ effect: 'ask', code: 'ASK', capability: held?.id });
    const told = await kernel.capabilities.explain(child, 'call', 'tool:search');
    expect(told).toMatchObject({ effect: 'ask', code: 'ASK', capability: held?.id, asks: [rule?.id], denies: [] });
    expect(told.hint).toContain('approvals');
    const own = await kernel.as(child).capabilities.explain('call', 'tool:search');
    expect(own).toMatchObject({ effect: 'ask', asks: [] });
    expect(JSON.stringify(own)).not.toContain(rule?.id);
    expect(await kernel.capabilities.whoCan('call', 'tool:search')).toEqual([]);
    expect(await kernel.approvals.list({ status: 'any' })).toEqual([]);
  });

  it('is decided after everything else: what is missing or forbidden is not asked about', async () => {
    const { kernel, root, child } = await asking();
    const none = { code: 'CAPABILITY_DENIED', facts: { code: 'NO_CAPABILITY' } };
    expect(await refusal(kernel.capabilities.require(child, 'call', 'tool:mail'))).toMatchObject(none);
    await kernel.capabilities.deny(child, callSearch);
    expect(await refusal(use(kernel, child))).toMatchObject({ facts: { code: 'DENY_RULE' } });
    expect((await refusal(use(kernel, root))).code).toBe('APPROVAL_PENDING');
  });
});

describe('an answer', () => {
  async function answered(set: Asking, pid: Pid, answer: object): Promise<Approval> {
    await refusal(use(set.kernel, pid));
    const approval = await waitForPending(set.kernel);
    await set.kernel.approvals.answer(approval.id, { ...ann, ...answer } as never);
    return set.kernel.approvals.get(approval.id);
  }
  const outcome = (promise: Promise<unknown>) =>
    promise.then(
      () => 'ok',
      ({ code }) => code,
    );

  it('`once` is for one call with these arguments', async () => {
    const set = await asking();
    const { kernel, child } = set;
    await answered(set, child, { decision: 'once' });
    expect(await codeWith(kernel, child, { q: 'x' })).toBe('ALLOWED');
    expect(await codeWith(kernel, child, { q: 'y' })).toBe('ASK');
    expect(await outcome(use(kernel, child, { q: 'y' }))).toBe('APPROVAL_PENDING');
    const twenty = await Promise.all(Array.from({ length: 20 }, () => outcome(use(kernel, child))));
    expect(twenty.filter((one) => one === 'ok')).toHaveLength(1);
    expect(new Set(twenty)).toEqual(new Set(['ok', 'APPROVAL_PENDING']));
    expect(await codeWith(kernel, child, { q: 'x' })).toBe('ASK');
    await checkInvariants(kernel, set.path);
  });

  it('`always` is for these arguments, unless it says more', async () => {
    const set = await asking();
    const { kernel, child, grandchild } = set;
    expect(await answered(set, child, { decision: 'always' })).toMatchObject({ decision: 'always', scope: 'args' });
    for (let n = 0; n < 3; n++) expect(await outcome(use(kernel, child))).toBe('ok');
    expect(await codeWith(kernel, child, { q: 'y' })).toBe('ASK');
    expect(await codeWith(kernel, grandchild, { q: 'x' })).toBe('ASK');
  });

  it('`always` for the resource is for any arguments of this process, and not of others', async () => {
    const set = await asking();
    const { kernel, root, child, grandchild } = set;
    await answered(set, child, { decision: 'always', scope: 'resource' });
    expect(await outcome(use(kernel, child, { q: 'y' }))).toBe('ok');
    expect(await codeWith(kernel, root, { q: 'y' })).toBe('ASK');
    expect(await codeWith(kernel, grandchild, { q: 'y' })).toBe('ASK');
    await kernel.capabilities.grant(child, { resource: 'tool:*', rights: ['call'] });
    expect((await kernel.capabilities.check(child, 'call', 'tool:mail')).code).toBe('ASK');
  });

  it('`always` for the tree is also for what was derived below, by descendants', async () => {
    const set = await asking();
    const { kernel, root, child, grandchild } = set;
    await answered(set, child, { decision: 'always', scope: 'tree' });
    expect(await outcome(use(kernel, grandchild, { q: 'y' }))).toBe('ok');
    expect(await codeWith(kernel, root, { q: 'y' })).toBe('ASK');
    const later = await kernel.processes.spawnChild(child, { delegate: [callSearch] });
    expect(await outcome(use(kernel, later))).toBe('ok');
    const other = await kernel.processes.spawnChild(child, {});
    await kernel.capabilities.grant(other, callSearch);
    expect(await codeFor(set, other)).toBe('ASK');
    await kernel.processes.exit(grandchild);
    await kernel.processes.exec(child, { image: 'worker', preserveCapabilities: true });
    expect(await codeFor(set, later)).toBe('ASK');
  });

  it('`always` lets other calls go on that wait for what it covers', async () => {
    const { kernel, child, grandchild } = await asking();
    const first = trackCall(ask(kernel, child));
    const { id } = await waitForPending(kernel);
    const others = [trackCall(ask(kernel, child, { q: 'y' })), trackCall(ask(kernel, grandchild))];
    await waitForApprovals(kernel, 3);
    await kernel.approvals.answer(id, { decision: 'always', scope: 'tree', ...ann });
    for (const one of [first, ...others]) expect(await one.done).toMatchObject({ effect: 'allow' });
    expect(await kernel.approvals.list()).toEqual([]);
    expect(await kernel.approvals.list({ status: 'void', limit: 1 })).toHaveLength(1);
  });

  it('`deny` refuses this call, once, and the same call later asks again', async () => {
    const set = await asking();
    const { kernel, child } = set;
    const approval = await answered(set, child, { decision: 'deny' });
    const denied = { code: 'APPROVAL_DENIED', facts: { pid: child, approval: approval.id } };
    expect(await refusal(use(kernel, child))).toMatchObject(denied);
    expect(await outcome(use(kernel, child))).toBe('APPROVAL_PENDING');
    const again = await waitForPending(kernel);
    expect(again.id).not.toBe(approval.id);
    const two = [trackCall(ask(kernel, child)), trackCall(ask(kernel, child))];
    await queuedCalls(kernel);
    await kernel.approvals.answer(again.id, { decision: 'deny', ...ann });
    for (const one of two) expect(await one.done).toMatchObject({ code: 'APPROVAL_DENIED' });
    expect(await kernel.approvals.list()).toEqual([]);
    const { items } = await kernel.audit.list({ outcome: 'refused' });
    const told = { code: 'APPROVAL_DENIED', decision: 'deny', action: 'capability.require', target: child };
    expect(items).toMatchObject([
      { ...told, approval: approval.id },
      { ...told, approval: again.id },
    ]);
    await checkInvariants(kernel, set.path);
  });

  it('`deny-always` sets a deny rule: for these arguments, or for the resource', async () => {
    const set = await asking();
    const { kernel, child, grandchild, root } = set;
    const parked = trackCall(ask(kernel, child));
    await kernel.approvals.answer((await waitForPending(kernel)).id, { decision: 'deny-always', ...ann });
    expect(await parked.done).toMatchObject({ code: 'APPROVAL_DENIED' });
    expect(await kernel.capabilities.rules(child)).toMatchObject([
      {
        effect: 'deny',
        pid: child,
        resource: 'tool:search',
        rights: ['call'],
        argsHash: expect.stringMatching(/^\w{64}$/),
      },
    ]);
    const codes = (q: string) => Promise.all([root, child, grandchild].map((pid) => codeWith(kernel, pid, { q })));
    expect(await codes('x')).toEqual(['ASK', 'DENY_RULE', 'DENY_RULE']);
    expect(await codes('y')).toEqual(['ASK', 'ASK', 'ASK']);
    await answered2(kernel, child, { decision: 'deny-always', scope: 'resource' });
    expect(await codes('y')).toEqual(['ASK', 'DENY_RULE', 'DENY_RULE']);
    await checkInvariants(kernel, set.path);
  });

  async function answered2(kernel: Kernel, pid: Pid, answer: object): Promise<void> {
    await refusal(use(kernel, pid, { q: 'y' }));
    await kernel.approvals.answer((await waitForPending(kernel)).id, { ...ann, ...answer } as never);
  }

  it('wakes the process that waits for it, in its commit, and no other', async () => {
    for (const decision of ['once', 'deny'] as const) {
      const { kernel, child, grandchild, edit, row } = await asking();
      await refusal(use(kernel, child));
      const { id } = await waitForPending(kernel);
      const waiting = (on: string) => ({
        status: 'waiting',
        wait: JSON.stringify({ kind: 'approval', what: on, since: 1, on: [`approval:${on}`] }),
      });
      await edit(child, waiting(id));
      await edit(grandchild, waiting('v_other'));
      await kernel.approvals.answer(id, { ...ann, decision });
      expect(await row(child)).toMatchObject({ status: 'runnable', wait: null });
      expect((await row(grandchild)).status).toBe('waiting');
      const { items } = await kernel.events.list({ types: ['approval.answered', 'process.woken'] });
      expect(items.map(({ type, pid, at }) => [type, pid, at === items[0]?.at])).toEqual([
        ['approval.answered', child, true],
        ['process.woken', child, true],
      ]);
    }
  });

  it('is refused when it has no form, names nothing, or comes twice', async () => {
    const set = await asking();
    const { kernel, child, refused } = set;
    await refusal(use(kernel, child));
    const { id } = await waitForPending(kernel);
    const bad = [
      { decision: 'maybe', by: 'ann' },
      { decision: 'once' },
      { decision: 'once', by: '' },
      { decision: 'once', by: 'a\u202eb' },
      { decision: 'always', by: 'ann', scope: 'everything' },
      { decision: 'once', by: 'ann', scope: 'tree' },
      { decision: 'deny', by: 'ann', scope: 'resource' },
      { decision: 'once', by: 'ann', more: 1 },
      undefined,
    ];
    for (const answer of bad) {
      expect((await refused(() => kernel.approvals.answer(id, answer as never))).code).toBe('INVALID_INPUT');
    }
    const once = { decision: 'once', ...ann } as const;
    expect((await refused(() => kernel.approvals.answer('v_none', once))).code).toBe('NO_SUCH_APPROVAL');
    expect((await refused(() => kernel.approvals.get('v_none'))).code).toBe('NO_SUCH_APPROVAL');
    expect((await refused(() => kernel.approvals.list({ status: 'open' } as never))).code).toBe('INVALID_INPUT');
    await kernel.approvals.answer(id, once);
    expect(await refused(() => kernel.approvals.answer(id, once))).toMatchObject({
      code: 'CONFLICT',
      facts: { approval: id, status: 'answered' },
    });
    expect(await kernel.approvals.list({ status: 'answered', pid: child })).toHaveLength(1);
    expect(await kernel.approvals.list({ status: 'answered', pid: set.root })).toEqual([]);
  });
});

/** The code of the decision with these arguments. */
async function codeWith(kernel: Kernel, pid: Pid, args: { q: string }): Promise<string> {
  return (await kernel.capabilities.check(pid, 'call', 'tool:search', args)).code;
}

describe('what changes while a call waits', () => {
  it('wins: a deny rule that was added, before or after the answer', async () => {
    const { kernel, child, grandchild } = await asking();
    const parked = trackCall(ask(kernel, child));
    const { id } = await waitForPending(kernel);
    await kernel.capabilities.deny(child, callSearch);
    expect(await parked.done).toMatchObject({ code: 'CAPABILITY_DENIED', facts: { code: 'DENY_RULE' } });
    await kernel.approvals.answer(id, { decision: 'once', ...ann });
    expect(await refusal(use(kernel, child))).toMatchObject({ facts: { code: 'DENY_RULE' } });
    expect(await refusal(use(kernel, grandchild))).toMatchObject({ facts: { code: 'DENY_RULE' } });
  });

  it('wins: the revocation of the capability, or of one above it, which makes the approval void', async () => {
    const { kernel, refused, child, grandchild } = await asking();
    const parked = trackCall(ask(kernel, grandchild));
    const { id } = await waitForPending(kernel);
    const [, held] = await kernel.capabilities.list(child);
    await kernel.capabilities.revoke(held?.id ?? '');
    expect(await parked.done).toMatchObject({ code: 'CAPABILITY_REVOKED' });
    expect(await kernel.approvals.list()).toEqual([]);
    expect(await kernel.approvals.list({ status: 'void' })).toMatchObject([{ id, status: 'void' }]);
    expect(await refused(() => kernel.approvals.answer(id, { decision: 'once', ...ann }))).toMatchObject({
      code: 'CONFLICT',
      facts: { status: 'void' },
    });
    expect((await refusal(use(kernel, grandchild))).code).toBe('CAPABILITY_REVOKED');
  });

  it('wins: the end of a holder above, the end of the process, a new program', async () => {
    const { kernel, child, grandchild } = await asking();
    const outside = await kernel.processes.spawn({ capabilities: [{ ...search, resource: 'tool:mail' }] });
    await kernel.capabilities.delegate(outside, child, { resource: 'tool:mail', rights: ['call'] });
    const mail = trackCall(kernel.as(child).capabilities.require('call', 'tool:mail'));
    await waitForPending(kernel);
    await kernel.processes.exit(outside);
    expect(await mail.done).toMatchObject({ code: 'CAPABILITY_REVOKED' });
    const ended = trackCall(ask(kernel, grandchild));
    await waitForPending(kernel);
    await kernel.processes.exit(grandchild);
    expect(await ended.done).toMatchObject({ code: 'CAPABILITY_DENIED', facts: { code: 'PROCESS_ENDED' } });
    await refusal(use(kernel, child));
    const { id } = await waitForPending(kernel);
    await kernel.approvals.answer(id, { decision: 'always', ...ann });
    await kernel.processes.exec(child, { image: 'worker', preserveCapabilities: true });
    expect((await refusal(use(kernel, child))).code).toBe('APPROVAL_PENDING');
  });

  it('ends the wait of a process that is being stopped, and of a kernel that is shut down', async () => {
    const { kernel, child, root, edit } = await asking();
    await edit(child, { node: 'n_other', status: 'running' });
    const stopped = trackCall(ask(kernel, child));
    await waitForPending(kernel);
    await kernel.processes.cancel(child);
    expect(await stopped.done).toMatchObject({ code: 'CANCELLED' });
    expect(await ask(kernel, child).catch(({ code }) => code)).toBe('CANCELLED');
    const closed = trackCall(ask(kernel, root));
    await waitForApprovals(kernel, 2);
    await kernel.shutdown();
    expect(await closed.done).toMatchObject({ code: 'KERNEL_CLOSED' });
  });

  it('lets the call go on when the rule is lifted, or expires', async () => {
    const clock = manualClock();
    const { kernel, root, child } = await asking({ clock });
    const parked = trackCall(ask(kernel, child));
    await waitForPending(kernel);
    const [rule] = await kernel.capabilities.rules(root);
    await kernel.capabilities.lift(rule?.id ?? '');
    expect(await parked.done).toMatchObject({ effect: 'allow' });
    await kernel.capabilities.ask(root, { ...allTools, expiresAt: clock.now() + 1_000 });
    const timed = trackCall(ask(kernel, child, { q: 'z' }));
    await waitForApprovals(kernel, 2);
    clock.advance(1_000);
    expect(await timed.done).toMatchObject({ effect: 'allow' });
  });

  it('ends with the capability when that expires', async () => {
    const clock = manualClock();
    const { kernel } = await kernelFixture({ clock });
    const expiresAt = clock.now() + 1_000;
    const pid = await kernel.processes.spawn({ capabilities: [{ ...callSearch, expiresAt }] });
    await kernel.capabilities.ask('*', allTools);
    const parked = trackCall(ask(kernel, pid));
    expect(await waitForPending(kernel)).toMatchObject({ expiresAt });
    clock.advance(1_000);
    expect(await parked.done).toMatchObject({ code: 'CAPABILITY_EXPIRED' });
    expect(await kernel.approvals.list({ status: 'void' })).toHaveLength(1);
  });
});

describe('the queue', () => {
  it('holds identical calls of one process once, and sixteen different ones at most', async () => {
    const { kernel, child, grandchild, refused } = await asking();
    const same = Array.from({ length: 5 }, () => trackCall(ask(kernel, child)));
    await waitForPending(kernel);
    const codes = await Promise.all(
      Array.from({ length: 16 }, (_, n) => refusal(use(kernel, child, { q: `${n}` })).then(({ code }) => code)),
    );
    expect(codes.sort()).toEqual([...Array(15).fill('APPROVAL_PENDING'), 'TOO_MANY_APPROVALS']);
    expect((await refused(() => use(kernel, child, { q: 'more' }))).code).toBe('TOO_MANY_APPROVALS');
    expect((await refusal(use(kernel, grandchild))).code).toBe('APPROVAL_PENDING');
    const all = await kernel.approvals.list({ pid: child });
    expect(all).toHaveLength(16);
    const [first] = all;
    await kernel.approvals.answer(first?.id ?? '', { decision: 'always', ...ann });
    for (const one of same) expect(await one.done).toMatchObject({ effect: 'allow' });
  });

  it('counts only those that can still be answered', async () => {
    const { kernel } = await kernelFixture();
    const pid = await kernel.processes.spawn({
      capabilities: [callSearch, { resource: 'tool:mail', rights: ['call'] }],
    });
    await kernel.capabilities.ask(pid, allTools);
    for (let n = 0; n < 16; n++) await refusal(use(kernel, pid, { q: `${n}` }));
    const mail = () => kernel.capabilities.require(pid, 'call', 'tool:mail');
    expect((await refusal(mail())).code).toBe('TOO_MANY_APPROVALS');
    const held = (await kernel.capabilities.list(pid)).find(({ resource }) => resource === 'tool:search');
    await kernel.capabilities.revoke(held?.id ?? '');
    expect((await refusal(mail())).code).toBe('APPROVAL_PENDING');
  });

  it('survives closing and reopening, before and after the answer', async () => {
    const set = await asking();
    const { kernel, path, child, grandchild } = set;
    const parked = trackCall(ask(kernel, grandchild));
    const { id } = await waitForPending(kernel);
    await kernel.shutdown();
    expect(await parked.done).toMatchObject({ code: 'KERNEL_CLOSED' });
    const second = (await kernelFixture({ store: path })).kernel;
    expect((await waitForPending(second)).id).toBe(id);
    const again = trackCall(ask(second, grandchild));
    await queuedCalls(second);
    await second.approvals.answer(id, { decision: 'once', ...ann });
    expect(await again.done).toMatchObject({ effect: 'allow' });
    await refusal(use(second, child));
    await second.approvals.answer((await waitForPending(second)).id, { decision: 'always', ...ann });
    await second.shutdown();
    const third = (await kernelFixture({ store: path })).kernel;
    expect((await use(third, child)).effect).toBe('allow');
    expect((await refusal(use(third, grandchild))).code).toBe('APPROVAL_PENDING');
    await checkInvariants(third, path);
  });

  it('is answered from another kernel on the same file, which wakes the call', async () => {
    const { kernel, path, child } = await asking({ node: { executor: false, pollMs: 10 } });
    const other = await openKernel({ store: path, node: { executor: false, pollMs: 10 } });
    const parked = trackCall(ask(kernel, child));
    const { id } = await waitForPending(other);
    await other.approvals.answer(id, { decision: 'once', ...ann });
    expect(await parked.done).toMatchObject({ effect: 'allow' });
  });
});
