import { describe, expect, it } from 'vitest';
import { defineImage, defineSupervisor, type Kernel, type KernelOptions } from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { gate } from '../support/gate.js';
import { newStore, openKernel } from '../support/kernel.js';

interface Told {
  readonly level: 'warn' | 'error';
  readonly message: string;
  readonly facts: Record<string, unknown>;
}

describe('the logger is told', () => {
  it('of a body that fails, with its message, pid, image and code', async () => {
    const image = defineImage({
      name: 'failing',
      run: async () => {
        throw Object.assign(new TypeError('not today'), { code: 'E_TODAY' });
      },
    });
    const { kernel, told } = await listening({ images: [image] });
    const pid = await run(kernel, 'failing');
    expect(told).toEqual([
      {
        level: 'error',
        message: 'a body failed: E_TODAY: not today',
        facts: { pid, image: 'failing@1', code: 'E_TODAY' },
      },
    ]);
  });

  it('of each attempt of a body that is run again', async () => {
    const image = defineImage({
      name: 'failing',
      retry: { attempts: 2, baseMs: 1 },
      run: async () => {
        throw new Error('not today');
      },
    });
    const { kernel, told } = await listening({ images: [image] });
    const pid = await run(kernel, 'failing');
    expect(told.map(({ level, message }) => [level, message])).toEqual([
      ['warn', 'a body failed and is run again: Error: not today'],
      ['error', 'a body failed: Error: not today'],
    ]);
    expect(told.map(({ facts }) => facts.pid)).toEqual([pid, pid]);
  });

  it('of nothing when a body ends because it is stopped, or well', async () => {
    const began = gate();
    const images = [
      defineImage({
        name: 'stopped',
        run: async (ctx) => {
          began.open();
          await ctx.sleep(3_600_000);
        },
      }),
      defineImage({ name: 'well', run: async (ctx) => ctx.step('work', () => 1) }),
      defineSupervisor({
        name: 'team',
        strategy: 'one_for_one',
        intensity: 1,
        periodMs: 1_000,
        children: [{ name: 'one', image: 'well', restart: 'temporary' }],
      }),
    ];
    const { kernel, told } = await listening({ images });
    const pid = await kernel.processes.spawn({ image: 'stopped' });
    const team = await kernel.processes.spawn({ image: 'team' });
    await began.opened;
    for (const stopped of [pid, team]) {
      await kernel.processes.cancel(stopped);
      await kernel.processes.result(stopped);
    }
    await run(kernel, 'well');
    expect(told).toEqual([]);
  });

  it('of a body that went another way than its journal', async () => {
    const store = await newStore();
    const version = (name: string) =>
      defineImage({
        name: 'changed',
        run: async (ctx) => {
          await ctx.step(name, () => 1);
          await ctx.waitSignal('go');
        },
      });
    const first = await openKernel({ store, images: [version('one')] });
    const pid = await first.processes.spawn({ image: 'changed' });
    await first.idle();
    await first.shutdown();
    const { told } = await listening({ store, images: [version('other')] });
    await eventually(() => expect(told).toHaveLength(1));
    expect(told[0]?.message).toContain('waits for code');
    expect(JSON.stringify(told)).toContain('step one #1');
    expect(told[0]?.facts).toMatchObject({ pid });
  });

  it('of processes whose image no node here has, and not of those that can run', async () => {
    const store = await newStore();
    const waiting = (name: string) => defineImage({ name, run: (ctx) => ctx.waitSignal('go') });
    const first = await openKernel({ store, node: { executor: false }, images: [waiting('gone'), waiting('here')] });
    const pids = [await first.processes.spawn({ image: 'gone' }), await first.processes.spawn({ image: 'gone' })];
    await first.processes.spawn({ image: 'here' });
    await first.shutdown();
    const { kernel, told } = await listening({ store, images: [waiting('here')] });
    await eventually(() => expect(told).toHaveLength(1));
    expect(told).toMatchObject([
      {
        level: 'warn',
        message: `process ${pids[0]} and 1 more of image gone@1 in queue default waits for a node with its image and queue`,
        facts: { pid: pids[0], processes: 2, image: 'gone@1' },
      },
    ]);
    kernel.images.register(waiting('other'));
    await kernel.shutdown();
    expect(told).toHaveLength(1);
  });

  it('of no image that is registered right after the kernel was opened', async () => {
    const store = await newStore();
    const late = defineImage({ name: 'late', run: async () => 'done' });
    const first = await openKernel({ store, node: { executor: false }, images: [late] });
    const pid = await first.processes.spawn({ image: 'late' });
    await first.shutdown();
    const { kernel, told } = await listening({ store });
    kernel.images.register(late);
    expect((await kernel.processes.result(pid)).value).toBe('done');
    await kernel.shutdown();
    expect(told).toEqual([]);
  });

  it('of a body that returned with calls under way, and of which', async () => {
    const image = defineImage({
      name: 'hasty',
      run: async (ctx) => {
        void ctx.step('save', async () => void (await ctx.sleep(3_600_000)));
        void ctx.receive();
        return 'done';
      },
    });
    const { kernel, told } = await listening({ images: [image] });
    const pid = await run(kernel, 'hasty');
    expect(told).toEqual([
      {
        level: 'warn',
        message: 'a body returned with calls under way: is an await missing?',
        facts: { pid, image: 'hasty@1', count: 2, calls: ['step save #1', 'receive #1'] },
      },
    ]);
  });

  it('of no call that a body has waited for, nor of its progress', async () => {
    const image = defineImage({
      name: 'patient',
      run: async (ctx) => {
        await Promise.all([ctx.step('save', () => 1), ctx.budget(), ctx.sleep(1)]);
        ctx.progress(1, 1);
        return 'done';
      },
    });
    const { kernel, told } = await listening({ images: [image] });
    await run(kernel, 'patient');
    expect(told).toEqual([]);
  });
});

async function run(kernel: Kernel, image: string) {
  const pid = await kernel.processes.spawn({ image });
  await kernel.processes.result(pid);
  await kernel.idle();
  return pid;
}

async function listening(options: KernelOptions): Promise<{ kernel: Kernel; told: Told[] }> {
  const told: Told[] = [];
  const tell = (level: Told['level']) => (facts: object, message: string) =>
    void told.push({ level, message, facts: { ...facts } });
  const kernel = await openKernel({ logger: { warn: tell('warn'), error: tell('error') }, ...options });
  return { kernel, told };
}
