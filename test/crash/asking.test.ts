import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import type { Kernel } from '../../src/index.js';
import { compilePrograms } from '../support/crash/compile-programs.js';
import { Program } from '../support/crash/program.js';
import { checkInvariants } from '../support/invariants.js';
import { openKernel, tempFolder } from '../support/kernel.js';

let programs = '';
beforeAll(async () => {
  programs = await compilePrograms();
});

it('a question outlives the program that asked it: killed again and again, no answer is used twice or lost', async () => {
  const store = join(tempFolder(), 'asking.db');
  const kernel = await openKernel({ store, node: { executor: false, pollMs: 5 } });
  const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:search', rights: ['call'] }] });
  await kernel.capabilities.ask(pid, { resource: 'tool:**', rights: ['call'] });
  const acknowledged: number[] = [];
  for (let round = 0; round < 8; round++) {
    const program = new Program(join(programs, 'asker.js'), store, pid);
    program.send('go');
    await program.waitForLine((line) => line === 'asked 0');
    const killed = new AbortController();
    const answering = answer(kernel, 3 + round, killed.signal);
    await program.waitForLine((line) => line === `asked ${2 + round}`);
    // At a pending question, before an answer is seen, or in the middle of a use.
    if (round % 2 === 0) await answering;
    await program.kill();
    killed.abort();
    await answering;
    acknowledged.push(program.lines.filter((line) => line.startsWith('used')).length);
  }
  const { items } = await kernel.audit.list({ action: 'capability.require', outcome: 'ok', limit: 1_000 });
  const used = acknowledged.reduce((sum, count) => sum + count, 0);
  expect(items.length).toBeGreaterThanOrEqual(used);
  const approvals = items.map(({ approval }) => approval);
  expect([approvals.includes(undefined), new Set(approvals).size]).toEqual([false, items.length]);
  await checkInvariants(kernel, store);
});

/** Answers the first `count` questions with yes, as they come. */
async function answer(kernel: Kernel, count: number, stop: AbortSignal): Promise<void> {
  for (let left = count; left > 0 && !stop.aborted; ) {
    for (const { id } of (await kernel.approvals.list()).slice(0, left)) {
      await kernel.approvals.answer(id, { decision: 'once', by: 'ann' });
      left--;
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
