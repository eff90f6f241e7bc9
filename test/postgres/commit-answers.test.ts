import { describe, expect, it, onTestFinished } from 'vitest';
import type { Kernel, KernelEvent, Pid } from '../../src/index.js';
import { SqlAuditRepository } from '../../src/storage/repository/sql-audit-repository.js';
import { eventually } from '../support/eventually.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';
import { type CommitFate, type PgProxy, startProxy } from '../support/pg-proxy.js';
import { rawSql } from '../support/storage/raw-sql.js';
import { storeAt } from '../support/storage/store-at.js';

interface Behind {
  readonly store: string;
  readonly proxy: PgProxy;
  readonly kernel: Kernel;
  readonly root: Pid;
  /** The number of events of charges that this kernel was told of. */
  readonly told: readonly KernelEvent[];
}

/** A kernel behind a proxy, with a process that has a budget. */
async function behindProxy(parameters = ''): Promise<Behind> {
  const store = await newStore();
  const proxy = await startProxy(`${store}${parameters}`);
  const kernel = await openKernel({ store: proxy.store, node: { executor: false } });
  const root = await kernel.processes.spawn({ budget: { tokens: 1_000, children: 100 } });
  const told: KernelEvent[] = [];
  kernel.events.on('process.spawned', (event) => told.push(event));
  return { store, proxy, kernel, root, told };
}

async function childrenOf({ kernel, root }: Behind): Promise<(string | undefined)[]> {
  return (await kernel.processes.children(root)).map(({ name }) => name);
}

describe('a COMMIT whose connection', () => {
  it.each<[CommitFate, string]>([
    ['lost', 'ends before it is sent is made again'],
    ['answer lost', 'ends before the answer is found, and not made again'],
  ])('%s: %s', async (fate) => {
    const behind = await behindProxy();
    const { kernel, proxy, root, told } = behind;
    for (let n = 1; n <= 3; n++) {
      const met = proxy.decideNextCommit(fate);
      const calls = ['a', 'b'].map((name) => kernel.processes.spawnChild(root, { name: `${name}${n}` }));
      const charge = kernel.processes.charge(root, { tokens: 10 });
      await Promise.all([met, charge, ...calls]);
      expect((await kernel.processes.budget(root)).tokens).toMatchObject({ used: n * 10 });
    }
    expect(await childrenOf(behind)).toEqual(['a1', 'b1', 'a2', 'b2', 'a3', 'b3']);
    expect(told.map(({ pid }) => pid)).toEqual((await kernel.processes.children(root)).map(({ pid }) => pid));
    expect(await kernel.audit.verify()).toMatchObject({ ok: true });
  });

  it('is in order, but that is answered with ROLLBACK, is made again', async () => {
    // The text of every statement is sent each time, so that the proxy can change it.
    const behind = await behindProxy('?prepare=false');
    const { kernel, proxy, root } = behind;
    const met = proxy.decideNextCommit('taken back');
    await Promise.all([met, kernel.processes.spawnChild(root, { name: 'once' })]);
    expect(await childrenOf(behind)).toEqual(['once']);
    expect((await kernel.processes.budget(root)).children).toMatchObject({ used: 1 });
    expect(await kernel.audit.verify()).toMatchObject({ ok: true });
  });

  it('is slow to bring the answer is waited for', async () => {
    const behind = await behindProxy();
    const { store, kernel, proxy, root, told } = behind;
    const met = proxy.decideNextCommit('answer withheld');
    let isAnswered = false;
    const call = kernel.processes.spawnChild(root, { name: 'slow' }).then(() => {
      isAnswered = true;
    });
    await met;
    // It is committed for everybody else.
    await eventually(async () =>
      expect(await rawSql(store, "SELECT pid FROM processes WHERE name = 'slow'")).toHaveLength(1),
    );
    expect(isAnswered).toBe(false);
    expect(told).toEqual([]);
    proxy.deliver();
    await call;
    expect(told).toHaveLength(1);
    expect(await childrenOf(behind)).toEqual(['slow']);
  });
});

describe('a server that does not answer', () => {
  const rows = new SqlAuditRepository();

  /** A store behind a proxy, which takes a silent server for lost soon. */
  async function openStore() {
    const proxy = await startProxy(`${await newStore()}?prepare=false`);
    const store = storeAt(proxy.store, { answerMs: 500 });
    await store.open();
    onTestFinished(() => store.close());
    const put = (id: string) => store.write((tx) => rows.insertKey(tx, { id, publicKey: id }));
    const ids = () => store.read(async (tx) => (await rows.keys(tx)).map(({ id }) => id));
    return { proxy, put, ids };
  }

  it.each<[CommitFate, string]>([
    ['answer withheld', 'has carried out a COMMIT'],
    ['half sent', 'has got half of a COMMIT'],
  ])('%s: is taken for lost, and what it %s is done once', async (fate) => {
    const { proxy, put, ids } = await openStore();
    await put('first');
    const met = proxy.decideNextCommit(fate);
    await Promise.all([met, put('second')]);
    await put('third');
    expect(await ids()).toEqual(['first', 'second', 'third']);
  });

  it('to a read is taken for lost, and the read is made again', async () => {
    const { proxy, put, ids } = await openStore();
    await put('first');
    await ids();
    proxy.withholdAnswers();
    expect(await ids()).toEqual(['first']);
  });
});

describe('a COMMIT of which the server does not say what became', () => {
  it.each<[CommitFate, string, string[]]>([
    ['answer lost', 'was carried out', ['before', 'unknown', 'after']],
    ['lost', 'was not', ['before', 'after']],
  ])('%s: is STORE_OUTCOME_UNKNOWN, and the store finds out later that it %s', async (fate, _, names) => {
    const behind = await behindProxy();
    const { kernel, proxy, root, told } = behind;
    await kernel.processes.spawnChild(root, { name: 'before' });
    const met = proxy.decideNextCommit(fate, { andStop: true });
    const call = refusal(kernel.processes.spawnChild(root, { name: 'unknown' }));
    await met;
    expect(await call).toMatchObject({ code: 'STORE_OUTCOME_UNKNOWN', facts: { database: expect.any(String) } });
    expect(told).toHaveLength(1);
    proxy.resume();
    await kernel.processes.spawnChild(root, { name: 'after' });
    // Its listeners are told of it now, in order and once; its caller was answered.
    expect(await childrenOf(behind)).toEqual(names);
    const pids = (await kernel.processes.children(root)).map(({ pid }) => pid);
    expect(told.map(({ pid }) => pid)).toEqual(pids);
    expect(await kernel.audit.verify()).toMatchObject({ ok: true });
  });
});
