import { describe, expect, it } from 'vitest';
import { defineImage, externalImage, type Kernel, type Pid } from '../../src/index.js';
import { newStore, openKernel } from '../support/kernel.js';
import { kernelFixture, worker } from '../support/kernel-fixture.js';
import { findInconsistencies } from '../support/store-consistency.js';

interface Ids {
  readonly live: Pid;
  readonly child: Pid;
  readonly external: Pid;
}

type Call<Value> = (kernel: Kernel, value: Value, ids: Ids) => unknown;

/** Each text that a caller can give and that is stored, or looked for, as it is. */
const textCalls: Readonly<Record<string, Call<string>>> = {
  'spawn, image': (k, t) => k.processes.spawn({ image: t }),
  'spawn, id': (k, t) => k.processes.spawn({ id: t }),
  'spawn, name': (k, t) => k.processes.spawn({ name: t }),
  'spawn, name of a label': (k, t) => k.processes.spawn({ labels: { [t]: 'x' } }),
  'spawn, value of a label': (k, t) => k.processes.spawn({ labels: { x: t } }),
  'spawn, owner': (k, t) => k.processes.spawn({ owner: { session: t } }),
  'spawn, queue': (k, t) => k.processes.spawn({ queue: t }),
  'spawn, externalRef': (k, t) => k.processes.spawn({ externalRef: t }),
  'spawn, cwd': (k, t) => k.processes.spawn({ cwd: t }),
  'spawn, env': (k, t) => k.processes.spawn({ env: { NAME: t } }),
  'spawn, resource': (k, t) => k.processes.spawn({ capabilities: [{ resource: `tool:${t}`, rights: ['call'] }] }),
  'spawnChild, parent': (k, t) => k.processes.spawnChild(t, {}),
  'spawnChild, name': (k, t, { live }) => k.processes.spawnChild(live, { name: t }),
  'spawnChild, externalRef': (k, t, { live }) => k.processes.spawnChild(live, { externalRef: t }),
  'spawnChild, delegated from': (k, t, { live }) =>
    k.processes.spawnChild(live, { delegate: [{ resource: 'tool:echo', rights: ['call'], from: t }] }),
  'fork, root of the view': (k, t, { live }) => k.processes.fork(live, { view: { roots: [t] } }),
  'fork, tag of the view': (k, t, { live }) => k.processes.fork(live, { view: { tags: [t] } }),
  'exec, image': (k, t, { live }) => k.processes.exec(live, { image: t }),
  'exit, message': (k, t, { live }) => k.processes.exit(live, { message: t }),
  'fail, message': (k, t, { external }) => k.processes.fail(external, t),
  'abandon, reason': (k, t, { live }) => k.processes.abandon(live, t),
  'progress, text': (k, t, { live }) => k.processes.progress(live, { done: 1, text: t }),
  'wait, child': (k, t, { live }) => k.processes.wait(live, t),
  'waitAny, children': (k, t, { live }) => k.processes.waitAny(live, [t]),
  'chdir, path': (k, t, { live }) => k.processes.chdir(live, t),
  'get, pid': (k, t) => k.processes.get(t),
  'result, pid': (k, t) => k.processes.result(t),
  'tree, pid': (k, t) => k.processes.tree(t),
  'ancestors, pid': (k, t) => k.processes.ancestors(t),
  'budget, pid': (k, t) => k.processes.budget(t),
  'journal, pid': (k, t) => k.processes.journal(t),
  'logs, pid': (k, t) => k.processes.logs(t),
  'goal, pid': (k, t) => k.processes.goal(t),
  'find, id': (k, t) => k.processes.find(null, t),
  'find, parent': (k, t) => k.processes.find(t, 'x'),
  'list, parent': (k, t) => k.processes.list({ parent: t }),
  'list, image': (k, t) => k.processes.list({ image: t }),
  'list, name': (k, t) => k.processes.list({ name: t }),
  'list, label': (k, t) => k.processes.list({ labels: { x: t } }),
  'list, queue': (k, t) => k.processes.list({ queue: t }),
  'list, externalRef': (k, t) => k.processes.list({ externalRef: t }),
  'list, owner': (k, t) => k.processes.list({ owner: { session: t } }),
  'list, node': (k, t) => k.processes.list({ node: t }),
  'list, after': (k, t) => k.processes.list({ after: t }),
  'signal, scope': (k, t) => k.processes.signal({ name: t }, 'cancel'),
  'signal, name': (k, t, { live }) => k.processes.signal(live, `user.${t}`),
  'signal, id': (k, t, { live }) => k.processes.signal(live, 'user.x', { id: t }),
  'kill, pid': (k, t) => k.processes.kill(t),
  'kill, reason': (k, t, { live }) => k.processes.kill(live, t),
  'cancel, reason': (k, t, { live }) => k.processes.cancel(live, t),
  'pause, reason': (k, t, { live }) => k.processes.pause(live, t),
  'retry, version': (k, t, { live }) => k.processes.retry(live, { version: t }),
  'setOwner, owner': (k, t, { live }) => k.processes.setOwner(live, { session: t }),
  'settle, reservation': (k, t) => k.processes.settle(t, { tokens: 1 }),
  'send, to': (k, t, { live }) => k.as(live).send(t, 'x'),
  'receive, from': (k, t, { live }) => k.as(live).receive({ from: t, timeoutMs: 1 }),
  'ask, question': (k, t, { live }) => k.as(live).ask(t, { timeoutMs: 1 }),
  'tools.call, name': (k, t, { live }) => k.as(live).tools.call(t, {}),
  'grant, pid': (k, t) => k.capabilities.grant(t, { resource: 'tool:echo', rights: ['call'] }),
  'grant, resource': (k, t, { live }) => k.capabilities.grant(live, { resource: `tool:${t}`, rights: ['call'] }),
  'revoke, capability': (k, t) => k.capabilities.revoke(t),
  'get, capability': (k, t) => k.capabilities.get(t),
  'chain, capability': (k, t) => k.capabilities.chain(t),
  'whoCan, resource': (k, t) => k.capabilities.whoCan('call', `tool:${t}`),
  'deny, pid': (k, t) => k.capabilities.deny(t, { resource: 'tool:echo', rights: ['call'] }),
  'deny, reason': (k, t) => k.capabilities.deny('*', { resource: 'tool:echo', rights: ['call'], reason: t }),
  'lift, rule': (k, t) => k.capabilities.lift(t),
  'rules, pid': (k, t) => k.capabilities.rules(t),
  'create, name': (k, t, { live }) => k.memory.create(live, { type: 'artifact', payload: 1, name: t }),
  'create, title': (k, t, { live }) => k.memory.create(live, { type: 'artifact', payload: 1, title: t }),
  'create, tag': (k, t, { live }) => k.memory.create(live, { type: 'artifact', payload: 1, tags: [t] }),
  'create, namespace': (k, t, { live }) => k.memory.create(live, { type: 'artifact', payload: 1, namespace: t }),
  'read, object': (k, t, { live }) => k.memory.read(live, t),
  'history, object': (k, t, { live }) => k.memory.history(live, t),
  'delete, object': (k, t, { live }) => k.memory.delete(live, t),
  'lookup, name': (k, t, { live }) => k.memory.lookup(live, t),
  'query, text': (k, t, { live }) => k.memory.query(live, { text: t }),
  'query, tag': (k, t, { live }) => k.memory.query(live, { tags: [t] }),
  'materialize, query': (k, t, { live }) => k.memory.materialize(live, { tokensMax: 100, query: t }),
  'inspect, object': (k, t) => k.memory.inspect(t),
  'events, pid': (k, t) => k.events.list({ pid: t }),
  'events, tree': (k, t) => k.events.list({ tree: t }),
  'events, after': (k, t) => k.events.list({ after: t }),
  'audit, actor': (k, t) => k.audit.list({ actor: t }),
  'audit, target': (k, t) => k.audit.list({ target: t }),
  'audit, resource': (k, t) => k.audit.list({ resource: t }),
  'lineage, pid': (k, t) => k.audit.lineage(t),
  'provenance, object': (k, t) => k.audit.provenance(t),
  'erase, reason': (k, t) => k.audit.erase(1, t),
  'approvals, pid': (k, t) => k.approvals.list({ pid: t }),
  'approvals, id': (k, t) => k.approvals.get(t),
  'approvals, answer': (k, t) => k.approvals.answer(t, { decision: 'once', by: 'x' }),
  'approvals, by': (k, t) => k.approvals.answer('v_1', { decision: 'once', by: t }),
  'questions, pid': (k, t) => k.questions.list({ pid: t }),
  'questions, id': (k, t) => k.questions.get(t),
  'say, pid': (k, t) => k.agents.say(t, 'x'),
  'say, id': (k, t, { live }) => k.agents.say(live, 'x', { id: t }),
};

/** Each number that a caller can give and that is stored or compared. */
const numberCalls: Readonly<Record<string, Call<number>>> = {
  'spawn, budget': (k, n) => k.processes.spawn({ budget: { tokens: n } }),
  'spawn, children': (k, n) => k.processes.spawn({ budget: { children: n } }),
  'spawn, wallMs': (k, n) => k.processes.spawn({ budget: { wallMs: n } }),
  'spawn, deadlineMs': (k, n) => k.processes.spawn({ deadlineMs: n }),
  'charge, tokens': (k, n, { live }) => k.processes.charge(live, { tokens: n }),
  'reserve, tokens': (k, n, { live }) => k.processes.reserve(live, { tokens: n }),
  'setBudget, tokens': (k, n, { live }) => k.processes.setBudget(live, { tokens: n }),
  'result, timeoutMs': (k, n, { live }) => k.processes.result(live, { timeoutMs: n }),
  'receive, timeoutMs': (k, n, { live }) => k.as(live).receive({ timeoutMs: n }),
  'exit, exitCode': (k, n, { live }) => k.processes.exit(live, { exitCode: n }),
  'cancel, graceMs': (k, n, { live }) => k.processes.cancel(live, 'x', { graceMs: n }),
  'prune, endedBefore': (k, n) => k.processes.prune({ endedBefore: n }),
  'tree, depth': (k, n, { live }) => k.processes.tree(live, { depth: n }),
  'list, limit': (k, n) => k.processes.list({ limit: n }),
  'grant, uses': (k, n, { live }) => k.capabilities.grant(live, { resource: 'tool:echo', rights: ['call'], uses: n }),
  'grant, expiresAt': (k, n, { live }) =>
    k.capabilities.grant(live, { resource: 'tool:echo', rights: ['call'], expiresAt: n }),
  'read, version': (k, n, { live }) => k.memory.read(live, 'o_1', { version: n }),
  'materialize, tokensMax': (k, n, { live }) => k.memory.materialize(live, { tokensMax: n }),
  'events, limit': (k, n) => k.events.list({ limit: n }),
  'audit, get': (k, n) => k.audit.get(n),
  'audit, prove': (k, n) => k.audit.prove(n),
  'audit, proveConsistency': (k, n) => k.audit.proveConsistency(1, n),
  'audit, erase': (k, n) => k.audit.erase(n, 'x'),
  'audit, authority': (k, n) => k.audit.authority(n),
};

const isTyped = /^INVALID_(INPUT|PATH)$/;

async function populated() {
  const fixture = await kernelFixture({ images: [worker, externalImage({ name: 'external' })] });
  const live = await fixture.kernel.processes.spawn({ image: 'worker', budget: { tokens: 1_000 } });
  const child = await fixture.kernel.processes.spawnChild(live, {});
  const external = await fixture.kernel.processes.spawn({ image: 'external' });
  return { ...fixture, ids: { live, child, external } };
}

/** The codes of calls that were not refused as an error of the caller. */
async function notRefused<Value>(calls: Readonly<Record<string, Call<Value>>>, value: Value): Promise<string[]> {
  const { kernel, refused, ids } = await populated();
  const found: string[] = [];
  // Together they are one call that is refused: nothing is changed by any of them.
  await refused(async () => {
    let last: unknown;
    for (const [name, call] of Object.entries(calls)) {
      const outcome = await (async () => call(kernel, value, ids))().then(
        () => 'was not refused',
        (error: unknown) => {
          last = error;
          return (error as { code?: string }).code ?? String(error);
        },
      );
      if (!isTyped.test(outcome)) found.push(`${name}: ${outcome}`);
    }
    throw last;
  });
  expect(await findInconsistencies(kernel)).toEqual([]);
  return found;
}

describe('a value that some engine cannot store', () => {
  it.each([
    ['a NUL', 'a\u0000b'],
    ['a lone surrogate', 'a\ud800b'],
  ])('as a text is refused to its caller by every method: %s', async (_, text) => {
    expect(await notRefused(textCalls, text)).toEqual([]);
  });

  it('as a number is refused by every method: 2^53', async () => {
    expect(await notRefused(numberCalls, 2 ** 53)).toEqual([]);
  });

  it('is no authority: a check says so, and changes nothing', async () => {
    const { kernel, ids } = await populated();
    for (const text of ['a\u0000b', 'a\ud800b']) {
      const checks = await Promise.all([
        kernel.capabilities.check(text, 'call', 'tool:echo'),
        kernel.capabilities.check(ids.live, 'call', `tool:${text}`),
      ]);
      expect(checks).toMatchObject([
        { effect: 'deny', code: 'BAD_REQUEST' },
        { effect: 'deny', code: 'BAD_REQUEST' },
      ]);
    }
  });

  it('is refused to nobody beside the caller who gave it', async () => {
    const { kernel } = await populated();
    const names = ['before', 'a\u0000b', 'a\ud800b', 'after'];
    const calls = await Promise.allSettled(names.map((name) => kernel.processes.spawn({ name })));
    expect(calls.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
  });
});

describe('a NUL in JSON', () => {
  it('comes back as it was, wherever JSON is taken', async () => {
    const json = { 'k\u0000': 'a\u0000b', list: ['\u0000'] };
    const { kernel, ids } = await populated();
    const { live } = ids;
    const pid = await kernel.processes.spawn({ args: json, goal: json });
    expect((await kernel.processes.goal(pid)).payload).toEqual(json);
    const object = await kernel.memory.create(live, { type: 'artifact', payload: json, name: 'note' });
    expect((await kernel.memory.read(live, object)).payload).toEqual(json);
    await kernel.processes.send(live, json);
    expect((await kernel.as(live).receive({ timeoutMs: 60_000 })).body).toEqual(json);
    await kernel.processes.signal(live, 'user.x', { payload: json });
    await kernel.processes.exit(pid, { result: json });
    expect((await kernel.processes.result(pid)).value).toEqual(json);
    expect(await kernel.audit.verify()).toMatchObject({ ok: true });
    expect(await kernel.audit.lineage(pid)).toBeDefined();
  });

  it('and in the error of a body is stored so that it can be read', async () => {
    const store = await newStore();
    const thrower = defineImage({
      name: 'thrower',
      run: async () => {
        throw Object.assign(new Error('bad \u0000 output \ud800'), { code: 'E\u0000', evidence: { text: '\u0000' } });
      },
    });
    const kernel = await openKernel({ store, images: [thrower] });
    const pid = await kernel.processes.spawn({ image: 'thrower' });
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'failed' });
    expect((await kernel.processes.get(pid)).message).toContain('output');
    expect(await findInconsistencies(kernel)).toEqual([]);
  });
});
