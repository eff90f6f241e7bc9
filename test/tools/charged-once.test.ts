import { describe, expect, it } from 'vitest';
import {
  type CapabilitySpec,
  defineImage,
  defineTool,
  type Effect,
  type JsonObject,
  type Kernel,
  type Pid,
} from '../../src/index.js';
import { gate } from '../support/gate.js';
import { checkInvariants } from '../support/invariants.js';
import { newStore, openKernel } from '../support/kernel.js';

const capabilities = [{ resource: 'tool:**', rights: ['call' as const] }];
const never = () => new Promise<never>(() => undefined);

function tool(effect: Effect, run: () => Promise<string>) {
  const input = { type: 'object' };
  return defineTool({ name: 'work', description: 'Works.', effect, input, cost: () => ({ costMicros: 7 }), run });
}

const caller = defineImage({
  name: 'caller',
  run: (ctx) =>
    ctx.step('call', async () => String(await ctx.tools.call('work', {})), { retry: { attempts: 2, baseMs: 0 } }),
});

/** A process whose call is under way when its kernel is closed, `times` times. */
async function interrupted(effect: Effect, times: number, toolCalls: number): Promise<{ store: string; pid: Pid }> {
  const store = await newStore();
  let pid: Pid = '';
  for (let time = 0; time < times; time++) {
    const begun = gate();
    const hanging = tool(effect, () => {
      begun.open();
      return never();
    });
    const kernel = await openKernel({ store, images: [caller], tools: [hanging] });
    if (pid === '') pid = await kernel.processes.spawn({ image: 'caller', capabilities, budget: { toolCalls } });
    await begun.opened;
    await kernel.shutdown({ graceMs: 0 });
  }
  return { store, pid };
}

async function usedBy(kernel: Kernel, pid: Pid): Promise<{ toolCalls?: number; costMicros?: number }> {
  const { toolCalls, costMicros } = (await kernel.processes.get(pid)).used;
  return { toolCalls, costMicros } as { toolCalls?: number; costMicros?: number };
}

describe('a tool call that was under way when the program ended', () => {
  it('and is made again is charged once, within a budget of one', async () => {
    for (const times of [1, 3]) {
      const { store, pid } = await interrupted('idempotent', times, 1);
      const kernel = await openKernel({ store, images: [caller], tools: [tool('idempotent', async () => 'done')] });
      expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited', value: 'done' });
      expect(await usedBy(kernel, pid)).toEqual({ toolCalls: 1, costMicros: 7 });
      await checkInvariants(kernel, store);
    }
  });

  it('and fails when it is made again is charged once; what a retry of the step calls is charged again', async () => {
    const { store, pid } = await interrupted('idempotent', 1, 2);
    let calls = 0;
    const failsFirst = tool('idempotent', async () => {
      if (++calls === 1) throw new Error('not yet');
      return 'done';
    });
    const kernel = await openKernel({ store, images: [caller], tools: [failsFirst] });
    expect(await kernel.processes.result(pid)).toMatchObject({ value: 'done' });
    expect(await usedBy(kernel, pid)).toEqual({ toolCalls: 2, costMicros: 7 });
    await checkInvariants(kernel, store);
  });

  it('and is not made again is charged once', async () => {
    const { store, pid } = await interrupted('once', 1, 5);
    const kernel = await openKernel({ store, images: [caller], tools: [tool('once', async () => 'done')] });
    expect(await kernel.processes.result(pid)).toMatchObject({ outcome: { reason: 'OUTCOME_UNKNOWN' } });
    expect(await usedBy(kernel, pid)).toEqual({ toolCalls: 1, costMicros: 0 });
    await checkInvariants(kernel, store);
  });
});

describe('a tool call that was under way when the program ended, by capabilities with finite uses', () => {
  const once = [
    { resource: 'tool:work', rights: ['call' as const], uses: 1 },
    { resource: 'fs:notes.txt', rights: ['read' as const], uses: 1 },
  ];

  /** Reads a file that it names, so that it needs two capabilities. */
  function reader(run: () => Promise<string>) {
    return defineTool({
      name: 'work',
      description: 'Works.',
      effect: 'idempotent',
      input: { type: 'object' },
      resources: () => [{ right: 'read', resource: 'fs:notes.txt' }],
      run,
    });
  }

  function callerWith(args: JsonObject) {
    return defineImage({
      name: 'caller',
      run: (ctx) => ctx.step('call', () => ctx.tools.call('work', args), { retry: { attempts: 2, baseMs: 0 } }),
    });
  }

  async function interruptedReader(times: number, uses: CapabilitySpec[]): Promise<{ store: string; pid: Pid }> {
    const store = await newStore();
    let pid: Pid = '';
    for (let time = 0; time < times; time++) {
      const begun = gate();
      const hanging = reader(() => {
        begun.open();
        return never();
      });
      const kernel = await openKernel({ store, images: [callerWith({ n: 1 })], tools: [hanging] });
      if (pid === '') pid = await kernel.processes.spawn({ image: 'caller', capabilities: uses });
      await begun.opened;
      await kernel.shutdown({ graceMs: 0 });
    }
    return { store, pid };
  }

  /** The capabilities that lost a use, one for each use. */
  async function usesTaken(kernel: Kernel): Promise<string[]> {
    const { items } = await kernel.events.list({ types: ['capability.used'] });
    return items.map(({ data }) => (data as { capability: string }).capability).sort();
  }

  it('takes one use of each when it is made again', async () => {
    for (const times of [1, 3]) {
      const { store, pid } = await interruptedReader(times, once);
      const kernel = await openKernel({
        store,
        images: [callerWith({ n: 1 })],
        tools: [reader(async () => 'done')],
      });
      expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited', value: 'done' });
      const taken = await usesTaken(kernel);
      expect([taken.length, new Set(taken).size]).toEqual([2, 2]);
      await checkInvariants(kernel, store);
    }
  });

  it('takes another use when a retry of its step calls again, which is refused without one', async () => {
    const { store, pid } = await interruptedReader(1, once);
    let calls = 0;
    const failing = reader(async () => {
      calls++;
      throw new Error('not yet');
    });
    const kernel = await openKernel({ store, images: [callerWith({ n: 1 })], tools: [failing] });
    expect(await kernel.processes.result(pid)).toMatchObject({ outcome: { reason: 'CAPABILITY_DENIED' } });
    expect(calls).toBe(1);
    await checkInvariants(kernel, store);
  });

  it('takes another use when the new code calls with other arguments, which is refused without one', async () => {
    const { store, pid } = await interruptedReader(1, once);
    const kernel = await openKernel({ store, images: [callerWith({ n: 2 })], tools: [reader(async () => 'done')] });
    expect(await kernel.processes.result(pid)).toMatchObject({ outcome: { reason: 'CAPABILITY_DENIED' } });
    expect(await usesTaken(kernel)).toHaveLength(2);
    await checkInvariants(kernel, store);
  });

  it('is refused when the capability was revoked meanwhile', async () => {
    const { store, pid } = await interruptedReader(1, once);
    const host = await openKernel({ store, node: { executor: false } });
    for (const capability of await usesTaken(host)) await host.capabilities.revoke(capability);
    const kernel = await openKernel({ store, images: [callerWith({ n: 1 })], tools: [reader(async () => 'done')] });
    expect(await kernel.processes.result(pid)).toMatchObject({ outcome: { reason: 'CAPABILITY_REVOKED' } });
  });
});
