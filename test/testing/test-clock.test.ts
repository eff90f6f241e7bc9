import { describe, expect, it, onTestFinished } from 'vitest';
import { createKernel, defineImage, defineTool, type RetryPolicy, type Syscalls } from '../../src/index.js';
import { createTestKernel, TestClock, type TestKernelOptions } from '../../src/testing/index.js';
import { gate } from '../support/gate.js';
import { newStore, refusal, tempFolder } from '../support/kernel.js';
import { nodesIn } from '../support/node-rows.js';

const hour = 3_600_000;
const day = 24 * hour;

async function open(options: TestKernelOptions = {}) {
  const kernel = await createTestKernel(options);
  onTestFinished(async () => void (await kernel.shutdown()));
  return kernel;
}

function body(run: (ctx: Syscalls) => unknown, retry?: RetryPolicy) {
  return defineImage({ name: 'body', run: run as never, ...(retry === undefined ? {} : { retry }) });
}

/** Runs a body on a new kernel; it is under way when this resolves. */
async function start(run: (ctx: Syscalls) => unknown, options: TestKernelOptions = {}) {
  const kernel = await open({ images: [body(run)], ...options });
  const pid = await kernel.processes.spawn({
    image: 'body',
    capabilities: [{ resource: 'tool:**', rights: ['call'] }],
  });
  const result = async () => kernel.processes.result(pid);
  const status = async () => (await kernel.processes.get(pid)).status;
  return { kernel, clock: kernel.clock, pid, result, status };
}

describe('a test kernel', () => {
  it('stands still until its clock is moved', async () => {
    const kernel = await open();
    const first = kernel.clock.now();
    await kernel.processes.spawn();
    expect(kernel.clock.now()).toBe(first);
    await kernel.clock.advance(5);
    const pid = await kernel.processes.spawn();
    expect((await kernel.processes.get(pid)).createdAt).toBe(first + 5);
  });

  it('is the same every time, unless it is told not to be', async () => {
    const spawned = async (options?: TestKernelOptions) => {
      await using kernel = await createTestKernel(options);
      return kernel.processes.spawn({ goal: 'the same' });
    };
    expect(await spawned()).toBe(await spawned());
    expect(await spawned({ seed: 'another' })).not.toBe(await spawned());
    expect(await spawned({ seed: false })).not.toBe(await spawned({ seed: false }));
  });

  it('is closed by `await using`', async () => {
    const kernel = await createTestKernel();
    {
      await using _kernel = kernel;
    }
    expect(await refusal(kernel.processes.spawn())).toMatchObject({ code: 'KERNEL_CLOSED' });
    await kernel.clock.advance(day);
  });
});

describe('moving the clock', () => {
  it('ends a sleep of a day, and not a moment before', async () => {
    const { clock, result, status } = await start((ctx) => ctx.sleep(day).then(() => 'awake'));
    await clock.advance(day - 1);
    expect(await status()).toBe('waiting');
    await clock.advance(1);
    expect(await status()).toBe('exited');
    expect(await result()).toMatchObject({ value: 'awake' });
  });

  it('stops at each due time on its way', async () => {
    const clock = new TestClock(0);
    const seen: number[] = [];
    const { status } = await start(
      async (ctx) => {
        for (let count = 0; count < 24; count++) {
          await ctx.sleep(hour);
          seen.push(clock.now());
        }
      },
      { clock },
    );
    await clock.advanceTo(new Date(day));
    expect(seen).toEqual(Array.from({ length: 24 }, (_, index) => (index + 1) * hour));
    expect(await status()).toBe('exited');
  });

  it('stops a process at its deadline, and ends it when its grace is over', async () => {
    const never = gate();
    const kernel = await open({ images: [body(() => never.opened)] });
    const pid = await kernel.processes.spawn({ image: 'body', deadlineMs: hour });
    const status = async () => (await kernel.processes.get(pid)).status;
    await kernel.clock.advance(hour - 1);
    expect(await status()).toBe('running');
    await kernel.clock.advance(1);
    expect(await status()).toBe('stopping');
    await kernel.clock.advance(hour);
    expect(await kernel.processes.result(pid)).toMatchObject({ outcome: { kind: 'timed_out' } });
    never.open();
  });

  it('makes the retries of a body and of a step', async () => {
    const tries: string[] = [];
    const kernel = await open({
      images: [
        body(
          async (ctx) => {
            tries.push(`body ${ctx.attempt}`);
            await ctx.step('flaky', () => Promise.reject(new Error(`step ${tries.push('step')}`)), {
              retry: { attempts: 2, baseMs: hour, maxMs: hour },
            });
          },
          { attempts: 2, baseMs: hour, maxMs: hour },
        ),
      ],
    });
    const pid = await kernel.processes.spawn({ image: 'body' });
    await kernel.clock.advance(0);
    expect(tries).toEqual(['body 1', 'step']);
    await kernel.clock.advance(hour);
    expect(tries).toEqual(['body 1', 'step', 'step']);
    await kernel.clock.advance(3 * hour);
    expect(tries).toEqual(['body 1', 'step', 'step', 'body 2', 'step', 'step']);
    expect((await kernel.processes.get(pid)).status).toBe('failed');
  });

  it('ends waits of bodies at their time limits', async () => {
    const { clock, result, status } = await start(async (ctx) => {
      const child = await ctx.spawnChild();
      const waits = [
        () => ctx.receive({ timeoutMs: hour }),
        () => ctx.waitSignal('go', { timeoutMs: hour }),
        () => ctx.wait(child, { timeoutMs: hour }),
        () => ctx.step('slow', () => new Promise(() => undefined), { timeoutMs: hour }),
        () => ctx.tools.call('slow'),
      ];
      const codes: string[] = [];
      for (const wait of waits) await wait().catch(({ code }: { code: string }) => codes.push(code));
      return codes;
    }, withSlowTool);
    await clock.advance(5 * hour - 1);
    expect(await status()).not.toBe('exited');
    await clock.advance(1);
    expect(await result()).toMatchObject({
      value: ['WAIT_TIMEOUT', 'WAIT_TIMEOUT', 'WAIT_TIMEOUT', 'STEP_TIMEOUT', 'TOOL_TIMEOUT'],
    });
  });

  it('lets capabilities expire, also while a call waits for an approval by them', async () => {
    const kernel = await open();
    const expiresAt = kernel.clock.now() + hour;
    const pid = await kernel.processes.spawn({
      capabilities: [{ resource: 'tool:mail', rights: ['call'], expiresAt }],
    });
    await kernel.capabilities.ask('*', { resource: 'tool:mail', rights: ['call'] });
    const held = refusal(kernel.as(pid).capabilities.require('call', 'tool:mail'));
    await kernel.clock.advance(hour - 1);
    expect(await kernel.approvals.list()).toHaveLength(1);
    await kernel.clock.advance(1);
    expect(await held).toMatchObject({ code: 'CAPABILITY_EXPIRED' });
  });

  it('lets the host wait in real time', async () => {
    const { kernel, pid } = await start((ctx) => ctx.sleep(day));
    expect(await refusal(kernel.processes.result(pid, { timeoutMs: 20 }))).toMatchObject({ code: 'WAIT_TIMEOUT' });
  });

  it('does not wait for work outside of the kernel', async () => {
    const answer = gate();
    const { clock, result, status } = await start((ctx) => ctx.step('request', () => answer.opened.then(() => 'done')));
    await clock.advance(day);
    expect(await status()).toBe('running');
    answer.open();
    expect(await result()).toMatchObject({ value: 'done' });
  });

  it('refuses what is no later time', async () => {
    const clock = new TestClock(100);
    for (const ms of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(await refusal(clock.advance(ms))).toMatchObject({ code: 'INVALID_INPUT', facts: { path: 'ms' } });
    }
    for (const at of [99, Number.NaN, new Date('no date')]) {
      expect(await refusal(clock.advanceTo(at))).toMatchObject({ code: 'INVALID_INPUT', facts: { path: 'at' } });
    }
    expect(() => new TestClock(new Date('no date'))).toThrow(/startAt/);
    expect(clock.now()).toBe(100);
    await clock.advanceTo(100);
  });
});

describe('a test clock of several kernels', () => {
  it('renews the leases of all of them, so that none is taken for gone', async () => {
    const [clock, store] = [new TestClock(), await newStore()];
    const options = { clock, store, logger: 'silent', workspace: tempFolder() } as const;
    const image = body((ctx) => ctx.sleep(day).then(() => ctx.attempt));
    await using runner = await createKernel({ ...options, images: [image] });
    await using other = await createKernel({ ...options, node: { queues: ['none'] }, images: [image] });
    const pid = await other.processes.spawn({ image: 'body' });
    await clock.advance(day);
    expect(await runner.processes.result(pid)).toMatchObject({ value: 1 });
    expect(await other.events.list({ types: ['node.lapsed'] })).toEqual({ items: [] });
  });
});

describe('a node that has not renewed its lease', () => {
  it('is taken for gone when the clock is past the lease, and not before', async () => {
    const store = await newStore();
    const kernel = await open({ store, workspace: tempFolder() });
    const lapsed = async () => (await kernel.events.list({ types: ['node.lapsed'] })).items.map(({ data }) => data);
    await nodesIn(store).addElsewhere('n_elsewhere');
    await kernel.clock.advance(30_000);
    expect(await lapsed()).toEqual([]);
    await kernel.clock.advance(1);
    expect(await lapsed()).toMatchObject([{ node: 'n_elsewhere', reason: 'lapsed' }]);
  });
});

const withSlowTool: TestKernelOptions = {
  tools: [
    defineTool({
      name: 'slow',
      description: 'Never answers.',
      effect: 'pure',
      input: {},
      timeoutMs: hour,
      run: () => new Promise<never>(() => undefined),
    }),
  ],
};
