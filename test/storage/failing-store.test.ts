import { describe, expect, it } from 'vitest';
import { createKernel, type Kernel, KernelError } from '../../src/index.js';
import { ProcessRepository } from '../../src/kernel/process/process-repository.js';
import { newStore } from '../support/kernel.js';
import { FailingRepositories } from '../support/storage/failing-repositories.js';
import { findInconsistencies } from '../support/store-consistency.js';

describe('a store operation that fails', () => {
  for (const when of ['before', 'after'] as const) {
    it(`leaves nothing half done, whichever of a script of syscalls it is: ${when} its work`, async () => {
      const failing = new FailingRepositories();
      let kernel = await openWith(failing);
      const operations = await operationsOf(kernel, failing);
      const failed = new Set<string>();
      for (let nth = 1; nth <= operations; nth++) {
        if (nth % 10 === 0) {
          await kernel.shutdown();
          kernel = await openWith(failing);
        }
        failing.arm(nth, when);
        const failure = await script(kernel).catch((error: unknown) => error);
        failing.disarm();
        if (failing.failed === undefined) continue;
        failed.add(failing.failed);
        if (failure instanceof Error) expect(failure).toBeInstanceOf(KernelError);
        const faults = await findInconsistencies(kernel);
        expect({ nth, failed: failing.failed, faults }).toEqual({ nth, failed: failing.failed, faults: [] });
      }
      expect(failed.size).toBeGreaterThan(15);
      await script(kernel);
      expect(await findInconsistencies(kernel)).toEqual([]);
      await kernel.shutdown();
    });
  }

  it('rejects its own call, and no other call of the same group', async () => {
    const failing = new FailingRepositories();
    const kernel = await openWith(failing);
    const root = await kernel.processes.spawn({});
    failing.arm(5, 'after', ProcessRepository);
    const outcomes = await Promise.allSettled(Array.from({ length: 8 }, () => kernel.processes.spawnChild(root, {})));
    failing.disarm();
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    expect(refused).toMatchObject([{ reason: { code: 'STORE_IO' } }]);
    expect(await kernel.processes.children(root)).toHaveLength(7);
    expect(await findInconsistencies(kernel)).toEqual([]);
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

async function openWith(failing: FailingRepositories): Promise<Kernel> {
  return createKernel({
    logger: 'silent',
    store: await newStore(),
    durability: 'normal',
    modules: [failing.module()],
    node: { executor: false },
  });
}

async function operationsOf(kernel: Kernel, failing: FailingRepositories): Promise<number> {
  const before = failing.calls;
  await script(kernel);
  return failing.calls - before;
}
