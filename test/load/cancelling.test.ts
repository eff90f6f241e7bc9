import { expect, it } from 'vitest';
import { EventOutbox } from '../../src/events/event-outbox.js';
import type { KernelEvent } from '../../src/index.js';
import { callConcurrently } from '../support/concurrent-callers.js';
import { openKernel, refusal } from '../support/kernel.js';
import { findInconsistencies } from '../support/store-consistency.js';

it('a tree of 10,000 processes is cancelled in one commit, and nobody in it can spawn meanwhile', {
  timeout: 120_000,
}, async () => {
  const kernel = await openKernel({ durability: 'normal' });
  const { processes } = kernel;
  const root = await processes.spawn({});
  const branches = (await callConcurrently(64, 99, () => processes.spawnChild(root, {}))).values;
  const leaves = (await callConcurrently(64, 9_900, (n) => processes.spawnChild(branches[n % 99] ?? root, {}))).values;
  const commits: KernelEvent[][] = [];
  kernel.container.get(EventOutbox).onCommit((events) => void commits.push([...events]));
  const spawning = [leaves[0], leaves[5_000], leaves.at(-1), branches[0], root];
  const cancelled = processes.cancel(root);
  const late = spawning.map((pid) => refusal(processes.spawnChild(pid ?? '', {})));
  const report = await cancelled;
  expect(report.delivered).toHaveLength(10_000);
  expect(new Set((await Promise.all(late)).map(({ code }) => code))).toEqual(new Set(['PROCESS_TERMINATED']));
  const ended = commits.flat().filter(({ type }) => type === 'process.exited');
  expect(commits.filter((events) => events.some(({ type }) => type === 'process.exited'))).toHaveLength(1);
  expect(new Set(ended.map(({ pid }) => pid))).toEqual(new Set([root, ...branches, ...leaves]));
  const first = ended[0]?.seq ?? 0;
  expect(ended.map(({ seq }) => seq)).toEqual(Array.from({ length: 10_000 }, (_, n) => first + n));
  expect((await processes.budget(root)).children.used).toBe(0);
  expect(await findInconsistencies(kernel)).toEqual([]);
});
