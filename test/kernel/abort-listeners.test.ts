import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { defineTool, type Kernel, type Pid } from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { openKernel, refusal } from '../support/kernel.js';

const echo = defineTool({ name: 'echo', description: 'Echoes.', effect: 'pure', input: {}, run: () => 'echo' });
const narrow = { ...echo, name: 'narrow', concurrency: 1 };
const broken = {
  ...echo,
  name: 'broken',
  run: () => {
    throw new Error('no');
  },
};

interface Fixture {
  readonly kernel: Kernel;
  readonly pid: Pid;
  readonly signal: AbortSignal;
}

async function fixture(): Promise<Fixture> {
  const kernel = await openKernel({ tools: [echo, narrow, broken], node: { executor: false } });
  const pid = await kernel.processes.spawn({
    capabilities: ['echo', 'narrow', 'broken'].map((name) => ({ resource: `tool:${name}`, rights: ['call'] as const })),
  });
  return { kernel, pid, signal: new AbortController().signal };
}

const calls: Record<string, (fixture: Fixture, n: number) => Promise<unknown>> = {
  'tools.call': ({ kernel, pid, signal }) => kernel.as(pid).tools.call('echo', {}, { signal }),
  'tools.call of a limited tool': ({ kernel, pid, signal }) => kernel.as(pid).tools.call('narrow', {}, { signal }),
  'tools.call that fails': ({ kernel, pid, signal }) => refusal(kernel.as(pid).tools.call('broken', {}, { signal })),
  'tools.call that is refused': ({ kernel, pid, signal }) =>
    refusal(kernel.as(pid).tools.call('fs.read', { path: 'a' }, { signal })),
  'tools.call that takes too long': ({ kernel, pid, signal }) =>
    kernel.as(pid).tools.call('echo', {}, { signal, timeoutMs: 10_000 }),
  receive: async ({ kernel, pid, signal }) => {
    await refusal(kernel.as(pid).receive({ signal, timeoutMs: 1 }));
  },
  wait: async ({ kernel, pid, signal }, n) => {
    const child = await kernel.processes.spawnChild(pid, {});
    if (n % 2 === 0) await refusal(kernel.as(pid).wait(child, { signal, timeoutMs: 1 }));
    await kernel.processes.kill(child);
    await kernel.as(pid).wait(child, { signal });
  },
  'events.stream': async ({ kernel, signal }) => {
    for await (const _event of kernel.events.stream({ signal })) break;
  },
  'capabilities.request': async ({ kernel, pid, signal }, n) => {
    const asked = kernel.as(pid).capabilities.request({ resource: `tool:t${n}`, rights: ['call'] }, { signal });
    const [approval] = await eventually(async () => {
      const pending = await kernel.approvals.list();
      expect(pending).toHaveLength(1);
      return pending;
    });
    await kernel.approvals.answer(approval?.id ?? '', { decision: 'once', by: 'ann' });
    await asked;
  },
};

describe('listeners on the signal of a caller', () => {
  it.each(Object.entries(calls))('are gone when the call has settled: %s', async (_, call) => {
    const given = await fixture();
    for (let n = 0; n < 12; n++) await call(given, n);
    await Promise.all(
      Array.from({ length: 3 }, (_unused, n) => (call === calls['capabilities.request'] ? null : call(given, n))),
    );
    await eventually(() => expect(getEventListeners(given.signal, 'abort')).toHaveLength(0));
  });

  it('are there while it waits, and are heard', async () => {
    const { kernel, pid } = await fixture();
    const controller = new AbortController();
    const waiting = refusal(kernel.as(pid).receive({ signal: controller.signal }));
    await eventually(() => expect(getEventListeners(controller.signal, 'abort').length).toBeGreaterThan(0));
    controller.abort();
    expect(await waiting).toMatchObject({ code: 'CANCELLED' });
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
  });
});
