import { describe, expect, it, onTestFinished } from 'vitest';
import { createKernel, type Kernel } from '../../src/index.js';
import { newStore, tempFolder } from '../support/kernel.js';
import { worker } from '../support/kernel-fixture.js';
import { RawTables } from '../support/storage/raw-tables.js';
import { setStoreMode, storeModeOfEnvironment, storeModes } from '../support/store-modes.js';

async function runScript(kernel: Kernel): Promise<void> {
  const root = await kernel.processes.spawn({ goal: 'plan', budget: { tokens: 100, children: 5 }, name: 'root' });
  const a = await kernel.processes.spawnChild(root, { image: 'worker', goal: { a: 1 } });
  const b = await kernel.processes.fork(root, { id: 'b', mode: 'copy' });
  await kernel.processes.charge(a, { tokens: 7 });
  await kernel.processes.charge(a, { tokens: 1_000 }).catch(() => undefined);
  await kernel.processes.settle(await kernel.processes.reserve(b, { tokens: 5 }), { tokens: 3 });
  await kernel.processes.pause(a, 'lunch');
  await kernel.processes.complete(b, { found: [1, 2, 3] });
  await kernel.processes.wait(root, b);
  await kernel.capabilities.grant(a, { resource: 'tool:search', rights: ['call'] });
  await kernel.processes.cancel(root, 'enough');
}

async function rootOf(seed: string, store: string): Promise<string> {
  await using kernel = await openSeeded(seed, store);
  await runScript(kernel);
  return (await kernel.audit.verify()).root;
}

function openSeeded(seed: string, store: string): Promise<Kernel> {
  return createKernel({
    logger: 'silent',
    store,
    seed,
    workspace: tempFolder(),
    node: { executor: false },
    images: [worker],
  });
}

async function idsIn(path: string): Promise<string[]> {
  await using tables = new RawTables(path);
  const column = async (table: string, name: string) => (await tables.rows(table)).map((row) => `${row[name]}`);
  return [
    ...(await column('processes', 'pid')),
    ...(await column('objects', 'id')),
    ...(await column('capabilities', 'id')),
    ...(await column('audit_records', 'body')).map((body) => (JSON.parse(body) as { id: string }).id),
    ...new Set(await column('events', 'node')),
  ];
}

describe('a seed', () => {
  it('gives the same audit root for the same calls, one after another', async () => {
    expect(await rootOf('alpha', await newStore())).toBe(await rootOf('alpha', await newStore()));
  });

  it('gives the same audit root whatever the store remembers, and if its units are run again', async () => {
    onTestFinished(() => setStoreMode(storeModeOfEnvironment()));
    const roots: string[] = [];
    for (const mode of storeModes) {
      setStoreMode(mode);
      roots.push(await rootOf('alpha', await newStore()));
    }
    expect(roots).toEqual(storeModes.map(() => roots[0]));
  });

  it('of another text gives another root', async () => {
    expect(await rootOf('alpha', await newStore())).not.toBe(await rootOf('beta', await newStore()));
  });

  it('gives the same root again over the same reopenings', async () => {
    const twice = async () => {
      const store = await newStore();
      await rootOf('alpha', store);
      return rootOf('alpha', store);
    };
    expect(await twice()).toBe(await twice());
  });

  it('never repeats an id on a store that is opened again', async () => {
    const store = await newStore();
    for (let round = 0; round < 3; round++) {
      await using kernel = await openSeeded('alpha', store);
      await kernel.processes.spawn({});
      await kernel.processes.spawn({ goal: 'again' });
    }
    const ids = await idsIn(store);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('gives the same signing key, so that one run’s checkpoint is the other’s', async () => {
    const checkpoint = async () => {
      await using kernel = await openSeeded('alpha', await newStore());
      await runScript(kernel);
      return kernel.audit.checkpoint();
    };
    expect(await checkpoint()).toEqual(await checkpoint());
  });

  it('is not needed: without one, two runs differ', async () => {
    const run = async () => {
      await using kernel = await createKernel({
        logger: 'silent',
        store: await newStore(),
        workspace: tempFolder(),
        images: [worker],
      });
      await kernel.processes.spawn({});
      return (await kernel.audit.verify()).root;
    };
    expect(await run()).not.toBe(await run());
  });
});
