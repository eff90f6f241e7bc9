import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineImage, defineSteps, defineTool, externalImage, type KernelError } from '../../src/index.js';
import { newStore, openKernel, refusal } from '../support/kernel.js';

const square = defineImage({
  name: 'square',
  input: z.object({ n: z.number().default(2) }),
  output: z.object({ square: z.number() }),
  run: async (_ctx, { n }) => ({ square: n * n }),
});

describe('an image that is given itself', () => {
  it('is registered by the call, once', async () => {
    const kernel = await openKernel();
    const pids = [
      await kernel.processes.spawn({ image: square, args: { n: 3 } }),
      await kernel.processes.spawn({ image: square }),
    ];
    expect(kernel.images.list()).toEqual(['base@1', 'square@1']);
    expect(await Promise.all(pids.map((pid) => kernel.processes.value(pid)))).toEqual([{ square: 9 }, { square: 4 }]);
    expect((await kernel.processes.get(pids[0] ?? '')).image).toBe('square@1');
  });

  it('is a CONFLICT where another one has its name and version, and nothing is spawned', async () => {
    const kernel = await openKernel({ images: [defineImage({ name: 'square', run: () => 1 })] });
    expect(await refusal(kernel.processes.spawn({ image: square }))).toMatchObject({
      code: 'CONFLICT',
      facts: { image: 'square@1' },
    });
    expect((await kernel.processes.list()).items).toEqual([]);
    const next = { ...square, version: '2' };
    expect(await kernel.run(next, { n: 5 })).toEqual({ square: 25 });
  });

  it('is validated: what is no image is refused', async () => {
    const kernel = await openKernel();
    const wrong = { name: 'wrong', version: '1' };
    expect(await refusal(kernel.processes.spawn({ image: wrong }))).toMatchObject({ code: 'INVALID_INPUT' });
    expect(kernel.images.list()).toEqual(['base@1']);
  });

  it('serves spawnChild, fork and exec, and is journalled by its name', async () => {
    const kernel = await openKernel();
    const parent = defineImage({
      name: 'parent',
      run: async (ctx) => {
        const child = await ctx.spawnChild({ image: square, args: { n: 3 } });
        const fork = await ctx.fork({ image: square, args: { n: 4 } });
        const [first, second] = await ctx.waitAll([child, fork]);
        return [first.value, second.value, await ctx.value(child), await ctx.call(square, { n: 5 })];
      },
    });
    const pid = await kernel.processes.spawn({ image: parent });
    expect(await kernel.processes.value(pid)).toEqual([{ square: 9 }, { square: 16 }, { square: 9 }, { square: 25 }]);
    const journal = await kernel.processes.journal(pid);
    expect(journal.map(({ key }) => key).filter((key) => key.startsWith('spawnChild'))).toEqual([
      'spawnChild square #1',
      'spawnChild square #2',
    ]);
    const root = await kernel.processes.spawn({ held: true });
    await kernel.processes.exec(root, { image: square, args: { n: 6 } });
    await kernel.processes.resume(root);
    expect(await kernel.processes.value(root)).toEqual({ square: 36 });
  });

  it('is run by the next kernel that registers it', async () => {
    const store = await newStore();
    const first = await openKernel({ store, node: { executor: false } });
    const pid = await first.processes.spawn({ image: square, args: { n: 7 } });
    await first.shutdown();
    const second = await openKernel({ store, images: [square] });
    expect(await second.processes.value(pid)).toEqual({ square: 49 });
  });
});

describe('value, call and run', () => {
  const failing = defineImage({
    name: 'failing',
    run: () => {
      throw new Error('no luck');
    },
  });

  it('answer with the value of a process that exited', async () => {
    const kernel = await openKernel();
    expect(await kernel.run(square, { n: 3 }, { name: 'nine', labels: { of: 'three' } })).toEqual({ square: 9 });
    expect((await kernel.processes.list({ name: 'nine' })).items).toHaveLength(1);
    const face = kernel.as(await kernel.processes.spawn());
    expect(await face.call(square, { n: 4 })).toEqual({ square: 16 });
    expect(await kernel.run('square', { n: 5 })).toEqual({ square: 25 });
    expect(await kernel.run(defineImage({ name: 'silent', run: () => undefined }))).toBeUndefined();
  });

  it('throw PROCESS_FAILED with the outcome for one that did not', async () => {
    const kernel = await openKernel();
    const pid = await kernel.processes.spawn({ image: failing });
    const error = await refusal(kernel.processes.value(pid));
    expect(error).toMatchObject({
      code: 'PROCESS_FAILED',
      facts: { pid, status: 'failed', outcome: { kind: 'failed' }, message: 'no luck' },
    });
    const killed = await kernel.processes.spawn();
    await kernel.processes.kill(killed);
    expect(await refusal(kernel.processes.value(killed))).toMatchObject({ code: 'PROCESS_FAILED' });
    const face = kernel.as(await kernel.processes.spawn());
    expect(await refusal(face.call(failing))).toMatchObject({ code: 'PROCESS_FAILED', facts: { message: 'no luck' } });
    expect(await refusal(kernel.run('missing'))).toMatchObject({ code: 'NO_SUCH_IMAGE' });
    expect(await refusal(face.value(pid))).toMatchObject({ code: 'NOT_A_CHILD' });
  });

  it('throw the same when the body is run again', async () => {
    const store = await newStore();
    const seen: string[] = [];
    const parent = defineImage({
      name: 'parent',
      run: async (ctx) => {
        const code = await ctx.call(failing).then(
          () => 'none',
          (error: KernelError) => error.code,
        );
        seen.push(code);
        await ctx.waitSignal('go');
        return code;
      },
    });
    const first = await openKernel({ store, images: [parent, failing] });
    const pid = await first.processes.spawn({ image: parent });
    await expect.poll(() => seen.length).toBe(1);
    await first.shutdown();
    const second = await openKernel({ store, images: [parent, failing] });
    await second.processes.signal(pid, 'user.go');
    expect([await second.processes.value(pid), seen]).toEqual(['PROCESS_FAILED', ['PROCESS_FAILED', 'PROCESS_FAILED']]);
    expect((await second.processes.children(pid)).length).toBe(1);
  });
});

describe('the output schema of an image', () => {
  const lying = { ...square, run: async () => ({ square: 'nine' }) };

  it('gives the result that is stored', async () => {
    const length = defineImage({
      name: 'length',
      output: z.string().transform((text) => text.length),
      run: () => 'four',
    });
    const kernel = await openKernel();
    expect(await kernel.run(length)).toBe(4);
  });

  it('fails a process whose result does not fit, with INVALID_OUTPUT and its facts', async () => {
    const kernel = await openKernel();
    const pid = await kernel.processes.spawn({ image: lying });
    const { status, outcome, value } = await kernel.processes.result(pid);
    expect({ status, value }).toEqual({ status: 'failed', value: undefined });
    expect(outcome).toMatchObject({
      reason: 'INVALID_OUTPUT',
      evidence: { facts: { image: 'square@1', path: 'result.square' } },
    });
  });

  it('fails a list of steps and a body that returns nothing or a handle', async () => {
    const kernel = await openKernel();
    const steps = defineSteps({ name: 'steps', output: z.number(), steps: [{ name: 'a', run: () => 'one' }] });
    const nothing = { ...square, name: 'nothing', run: async () => undefined };
    const handle = { ...square, name: 'handle', run: async (ctx: { memory: typeof kernel.memory }) => ctx };
    for (const image of [steps, nothing, handle]) {
      const pid = await kernel.processes.spawn({ image });
      expect((await kernel.processes.result(pid)).status).toBe('failed');
    }
  });

  it('refuses the result of an external worker, which can give another one', async () => {
    const job = { ...externalImage({ name: 'job' }), output: z.object({ done: z.boolean() }) };
    const kernel = await openKernel({ images: [job] });
    const pid = await kernel.processes.spawn({ image: job });
    expect(await refusal(kernel.processes.complete(pid, { done: 'yes' }))).toMatchObject({
      code: 'INVALID_OUTPUT',
      facts: { image: 'job@1', path: 'result.done' },
    });
    expect(await refusal(kernel.processes.exit(pid))).toMatchObject({ code: 'INVALID_OUTPUT' });
    await kernel.processes.complete(pid, { done: true });
    expect(await kernel.processes.value(pid)).toEqual({ done: true });
    const other = await kernel.processes.spawn({ image: job });
    await kernel.processes.fail(other, 'the worker gave up');
    expect((await kernel.processes.result(other)).status).toBe('failed');
  });

  it('goes with no command and no supervisor', async () => {
    const kernel = await openKernel();
    const command = { name: 'c', version: '1', kind: 'command', requires: [], recovery: 'rerun' } as const;
    expect(() => kernel.images.register({ ...command, command: { command: 'true' }, output: z.number() })).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT' }),
    );
  });
});

describe('steps one after the other', () => {
  it('get what the step before returned', async () => {
    const kernel = await openKernel();
    const first = defineSteps('words', { input: z.object({ text: z.string() }) }).step('split', (_ctx, { text }) =>
      text.split(' '),
    );
    const report = first.step('count', async (_ctx, words) => ({ words: words.length }), { retry: { attempts: 2 } });
    expect(await kernel.run(report, { text: 'to be or not' })).toEqual({ words: 4 });
    expect(first.steps).toHaveLength(1);
    const journal = await kernel.processes.journal((await kernel.processes.list()).items[0]?.pid ?? '');
    expect(journal.map(({ key }) => key)).toEqual(['step split #1', 'step count #1']);
    expect(await refusal(kernel.run(report, { text: 5 } as never))).toMatchObject({ code: 'INVALID_INPUT' });
  });
});

describe('a tool that is given itself', () => {
  const add = defineTool({
    name: 'add',
    description: 'Adds two numbers.',
    effect: 'pure',
    input: z.object({ a: z.number(), b: z.number() }),
    run: ({ a, b }) => a + b,
  });
  const capabilities = [{ resource: 'tool:add', rights: ['call'] }] as const;

  it('is called by its name, from faces and from bodies', async () => {
    const kernel = await openKernel({ tools: [add] });
    const face = kernel.as(await kernel.processes.spawn({ capabilities }));
    expect(await face.tools.call(add, { a: 1, b: 2 })).toBe(3);
    const body = defineImage({ name: 'body', run: (ctx) => ctx.tools.call(add, { a: 3, b: 4 }) });
    const pid = await kernel.processes.spawn({ image: body, capabilities });
    expect(await kernel.processes.value(pid)).toBe(7);
    expect((await kernel.processes.journal(pid)).map(({ key }) => key)).toEqual(['tool add #1']);
  });

  it('is refused where it is not registered, or another one is', async () => {
    const kernel = await openKernel({ tools: [{ ...add, description: 'Another one.' }] });
    const face = kernel.as(await kernel.processes.spawn({ capabilities }));
    expect(await refusal(face.tools.call(add, { a: 1, b: 2 }))).toMatchObject({
      code: 'CONFLICT',
      facts: { tool: 'add' },
    });
    const missing = { ...add, name: 'missing' };
    expect(await refusal(face.tools.call(missing, { a: 1, b: 2 }))).toMatchObject({ code: 'NO_SUCH_TOOL' });
    expect(await refusal(face.tools.call({} as typeof add, { a: 1, b: 2 }))).toMatchObject({ code: 'INVALID_INPUT' });
  });
});
