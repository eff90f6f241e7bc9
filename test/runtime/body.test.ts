import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { defineImage, type Pid } from '../../src/index.js';
import { openKernel } from '../support/kernel.js';

describe('a body', () => {
  it('runs, and what it returns is the result of its process', async () => {
    const image = defineImage<{ n: number }>({ name: 'double', run: async (_ctx, { n }) => n * 2 });
    const kernel = await openKernel({ images: [image] });
    const pid = await kernel.processes.spawn({ image: 'double', args: { n: 21 } });
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited', value: 42 });
  });

  it('that spawns three children, waits for all and combines their results runs to the end', async () => {
    const child = defineImage<{ n: number }>({
      name: 'child',
      run: async (ctx, { n }) => ctx.step('square', () => n * n),
    });
    const parent = defineImage({
      name: 'parent',
      run: async (ctx) => {
        const pids: Pid[] = [];
        for (const n of [1, 2, 3]) pids.push(await ctx.spawnChild({ image: 'child', args: { n } }));
        const results = await ctx.waitAll(pids);
        return results.map(({ value }) => value) as number[];
      },
    });
    const kernel = await openKernel({ images: [child, parent] });
    const pid = await kernel.processes.spawn({ image: 'parent' });
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited', value: [1, 4, 9] });
    await kernel.idle();
  });

  it('in a chain ten deep finishes with a concurrency of one', async () => {
    const link = defineImage<{ depth: number }>({
      name: 'link',
      run: async (ctx, { depth }) => {
        if (depth === 0) return ['end'];
        const below = await ctx.wait(await ctx.spawnChild({ image: 'link', args: { depth: depth - 1 } }));
        return [depth, ...(below.value as (string | number)[])];
      },
    });
    const kernel = await openKernel({ images: [link], node: { concurrency: 1 } });
    const pid = await kernel.processes.spawn({ image: 'link', args: { depth: 10 } });
    const { value } = await kernel.processes.result(pid);
    expect(value).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 'end']);
  });

  it('that throws fails its process with code, message and stack, and never the host', async () => {
    const image = defineImage({
      name: 'broken',
      run: async () => {
        throw Object.assign(new Error('the disk is on fire'), { code: 'E_FIRE' });
      },
    });
    const kernel = await openKernel({ images: [image] });
    const pid = await kernel.processes.spawn({ image: 'broken' });
    expect(await kernel.processes.result(pid)).toMatchObject({
      status: 'failed',
      message: 'the disk is on fire',
      outcome: {
        kind: 'failed',
        reason: 'E_FIRE',
        evidence: { code: 'E_FIRE', stack: expect.stringContaining(path.basename(import.meta.filename)) },
      },
    });
  });
});
