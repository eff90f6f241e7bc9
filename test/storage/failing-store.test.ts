import { describe, expect, it } from 'vitest';
import { createKernel, type Kernel, KernelError } from '../../src/index.js';
import { ProcessRepository } from '../../src/kernel/process/process-repository.js';
import { newStore } from '../support/kernel.js';
import { Sabotage } from '../support/storage/failing-repositories.js';
import { faultsIn } from '../support/store-consistency.js';

describe('a store operation that fails', () => {
  for (const when of ['before', 'after'] as const) {
    it(`leaves nothing half done, whichever of a script of syscalls it is: ${when} its work`, async () => {
      const sabotage = new Sabotage();
      let kernel = await openWith(sabotage);
      const operations = await operationsOf(kernel, sabotage);
      const failed = new Set<string>();
      for (let nth = 1; nth <= operations; nth++) {
        if (nth % 10 === 0) {
          await kernel.shutdown();
          kernel = await openWith(sabotage);
        }
        sabotage.arm(nth, when);
        const told = await script(kernel).catch((error: unknown) => error);
        sabotage.disarm();
        if (sabotage.failed === undefined) continue;
        failed.add(sabotage.failed);
        if (told instanceof Error) expect(told).toBeInstanceOf(KernelError);
        const faults = await faultsIn(kernel);
        expect({ nth, failed: sabotage.failed, faults }).toEqual({ nth, failed: sabotage.failed, faults: [] });
      }
      expect(failed.size).toBeGreaterThan(15);
      await script(kernel);
      expect(await faultsIn(kernel)).toEqual([]);
      await kernel.shutdown();
    });
  }

  it('is told to its caller, and to nobody whose unit shared the group', async () => {
    const sabotage = new Sabotage();
    const kernel = await openWith(sabotage);
    const root = await kernel.processes.spawn({});
    sabotage.arm(5, 'after', ProcessRepository);
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => kernel.processes.spawnChild(root, {})));
    sabotage.disarm();
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    expect(refused).toMatchObject([{ reason: { code: 'STORE_IO' } }]);
    expect(await kernel.processes.children(root)).toHaveLength(7);
    expect(await faultsIn(kernel)).toEqual([]);
    await kernel.shutdown();
  });
});

/** A little of everything that writes. */
async function script(kernel: Kernel): Promise<void> {
  const { processes, capabilities } = kernel;
  const root = await processes.spawn({
    labels: { of: 'script' },
    env: { A: 'b' },
    budget: { children: 10, tokens: 100 },
    capabilities: [{ resource: 'tool:t', rights: ['call', 'grant'], grantable: ['call'], delegable: true }],
  });
  const child = await processes.spawnChild(root, { id: 'child', delegate: [{ resource: 'tool:t', rights: ['call'] }] });
  const forked = await processes.fork(root, { goal: { text: 'x'.repeat(2_000) }, onParentExit: 'reparent' });
  await processes.charge(child, { tokens: 5 });
  const reservation = await processes.reserve(child, { tokens: 10 });
  await processes.settle(reservation, { tokens: 7 });
  await processes.setBudget(child, { tokens: 50 });
  await capabilities.grant(child, { resource: 'tool:u', rights: ['call'] });
  await processes.signal(child, 'user.hello', { payload: { n: 1 } });
  await kernel.as(root).send(child, { n: 1 });
  await kernel.as(child).receive();
  await processes.pause(child);
  await processes.resume(child);
  const grandchild = await processes.spawnChild(forked, { onParentExit: 'reparent' });
  await processes.exit(forked, { result: { done: true } });
  await processes.wait(root, forked);
  await processes.kill(grandchild);
  await processes.cancel(root);
}

async function openWith(sabotage: Sabotage): Promise<Kernel> {
  return createKernel({
    store: newStore(),
    durability: 'normal',
    modules: [sabotage.module()],
    node: { executor: false },
  });
}

async function operationsOf(kernel: Kernel, sabotage: Sabotage): Promise<number> {
  const before = sabotage.calls;
  await script(kernel);
  return sabotage.calls - before;
}
