import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Kernel } from '../../src/index.js';
import { compilePrograms } from '../support/crash/compile-programs.js';
import { Program } from '../support/crash/program.js';
import { eventually } from '../support/eventually.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';
import { isStopped } from '../support/os-processes.js';
import { startProxy } from '../support/pg-proxy.js';
import { connectPlain } from '../support/postgres-databases.js';
import { findInconsistencies } from '../support/store-consistency.js';

let programs = '';
beforeAll(async () => {
  programs = await compilePrograms();
});

/** Spawns until the lock is free. */
async function spawnPatiently(kernel: Kernel, name: string): Promise<string[]> {
  const refusals: string[] = [];
  for (;;) {
    const outcome = await kernel.processes.spawn({ name }).then(
      () => undefined,
      (error: { code: string }) => error.code,
    );
    if (outcome === undefined) return refusals;
    refusals.push(outcome);
  }
}

describe('a node that holds the lock', () => {
  it('and is stopped is disconnected by the server; the others go on, and what it did is done once when it goes on', async () => {
    const store = await newStore();
    const kernel = await openKernel({ store, node: { executor: false } });
    const pid = await kernel.processes.spawn({ budget: { tokens: 1_000 } });
    const holder = new Program(join(programs, 'lock-holder.js'), store);
    onTestFinished(() => holder.kill());
    holder.send(pid);
    await holder.waitForLine((line) => line === 'open');
    holder.send('first');
    await holder.waitForLine((line) => line === 'charged first');
    holder.send('hold');
    await holder.waitForLine((line) => line === 'holding');
    await eventually(() => expect(isStopped(holder.pid)).toBe(true));
    expect((await kernel.processes.budget(pid)).tokens).toMatchObject({ used: 10 });
    for (const code of await spawnPatiently(kernel, 'other')) expect(code).toBe('STORE_BUSY');
    await kernel.processes.charge(pid, { tokens: 1 });
    holder.signal('SIGCONT');
    await holder.waitForLine((line) => line === 'charged hold');
    expect((await kernel.processes.budget(pid)).tokens).toMatchObject({ used: 21 });
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('and has sent half a message is disconnected by a node that waits; a program that is not ours is only named', async () => {
    const warnings: object[] = [];
    const logger = {
      warn: (facts: object, message: string) => void warnings.push({ ...facts, message }),
      error: () => undefined,
    };
    const nodeBehindProxy = async () => {
      const store = await newStore();
      const proxy = await startProxy(store);
      const stuck = await openKernel({ store: proxy.store, node: { executor: false } });
      const waiting = await openKernel({ store, node: { executor: false }, logger });
      return { proxy, stuck, waiting };
    };
    const ours = async () => {
      const { proxy, stuck, waiting } = await nodeBehindProxy();
      const met = proxy.decideNextCommit('half sent');
      const call = stuck.processes.spawn({ name: 'stuck' });
      await met;
      for (const code of await spawnPatiently(waiting, 'waiting')) expect(code).toBe('STORE_BUSY');
      await call;
      const { items } = await waiting.processes.list();
      expect(items.map(({ name }) => name).sort()).toEqual(['stuck', 'waiting']);
      expect(await findInconsistencies(waiting)).toEqual([]);
    };
    const theirs = async () => {
      const store = await newStore();
      const waiting = await openKernel({ store, node: { executor: false }, logger });
      const other = await connectPlain(store);
      await other.query("SET application_name = 'reports'; BEGIN; SELECT 1 FROM procura.head FOR UPDATE");
      const isNamed = () => warnings.some((warning) => 'application' in warning && warning.application === 'reports');
      while (!isNamed()) expect(await refusal(waiting.processes.spawn({}))).toMatchObject({ code: 'STORE_BUSY' });
      // It is still there, and holds the lock.
      await other.query('COMMIT');
      await other.end();
      await waiting.processes.spawn({ name: 'later' });
      expect((await waiting.processes.list()).items).toMatchObject([{ name: 'later' }]);
    };
    await Promise.all([ours(), theirs()]);
    expect(warnings).toContainEqual(expect.objectContaining({ message: expect.stringContaining('was disconnected') }));
  });
});
