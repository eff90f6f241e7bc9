import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { defineImage, defineSteps, defineTool, type Image, type ImageSpec, type Syscalls } from '../../src/index.js';
import { agentImage } from '../../src/integrations/ai-sdk/index.js';
import {
  createTestKernel,
  historyOf,
  type ProcessHistory,
  replay,
  type ScriptedModel,
  scriptedModel,
  type TestKernel,
  type TestKernelOptions,
} from '../../src/testing/index.js';
import { refusal } from '../support/kernel.js';

const day = 86_400_000;
type Body = (ctx: Syscalls, args: never) => unknown;

async function open(options: TestKernelOptions = {}): Promise<TestKernel> {
  const kernel = await createTestKernel(options);
  onTestFinished(async () => void (await kernel.shutdown()));
  return kernel;
}

function imageOf(run: Body, { input, ...spec }: Partial<Omit<ImageSpec, 'output'>> = {}): Image {
  const image = { name: 'order', ...spec, run: run as never };
  return input === undefined ? defineImage(image) : defineImage({ ...image, input });
}

/** The history of a process that runs `image` until it has ended or waits; with tools, until it has ended. */
async function record(image: Image, options: TestKernelOptions = {}, spec: object = {}): Promise<ProcessHistory> {
  const kernel = await open({ ...options, images: [image, ...(options.images ?? [])] });
  const pid = await kernel.processes.spawn({ image: image.name, ...spec });
  await kernel.clock.advance(day);
  if (options.tools !== undefined) await kernel.processes.result(pid);
  return historyOf(kernel, pid);
}

let made: string[] = [];
const step = (name: string) => () => `${name} ${made.push(name)}`;

const order = imageOf(async (ctx) => {
  const goods = await ctx.step('collect', step('collect'));
  await ctx.sleep(1_000);
  const paid = await ctx.step('pay', step('pay'));
  return { goods, paid };
});

describe('a replayed history', () => {
  it('gives the body its recorded answers, and makes no call anew', async () => {
    made = [];
    const history = await record(order, {}, { args: { sku: 7 }, goal: 'Order it.' });
    expect(made).toEqual(['collect', 'pay']);
    const result = { goods: 'collect 1', paid: 'pay 2' };
    expect(await replay(history, order)).toEqual({ ok: true, calls: 3, isComplete: true, nextCalls: [], result });
    expect(made).toEqual(['collect', 'pay']);
    expect(history).toMatchObject({ image: 'order@1', args: { sku: 7 }, status: 'exited', result });
  });

  it('can be kept as JSON', async () => {
    const history = await record(order);
    const saved = JSON.parse(JSON.stringify(history)) as ProcessHistory;
    expect(saved).toEqual(history);
    expect(await replay(saved, order)).toMatchObject({ ok: true, calls: 3 });
  });

  it('has whole answers, however long', async () => {
    const long = imageOf(async (ctx) => (await ctx.step('long', () => 'x'.repeat(100_000))).length);
    const history = await record(long);
    expect(await replay(history, long)).toMatchObject({ result: 100_000 });
  });

  it.each<[what: string, body: Body, facts: object]>([
    [
      'renamed',
      async (ctx) => {
        await ctx.step('collect', step('collect'));
        await ctx.sleep(1_000);
        await ctx.step('charge', step('charge'));
      },
      { expected: 'step pay #1', found: 'step charge #1', position: 2 },
    ],
    [
      'removed in the middle',
      async (ctx) => {
        await ctx.step('collect', step('collect'));
        await ctx.step('pay', step('pay'));
      },
      { expected: 'sleep #1', found: 'step pay #1', position: 1 },
    ],
    [
      'removed at the end',
      async (ctx) => {
        await ctx.step('collect', step('collect'));
        await ctx.sleep(1_000);
      },
      { expected: 'step pay #1', found: 'the end of the body', position: 2 },
    ],
    [
      'replaced by an early exit',
      async (ctx) => {
        await ctx.step('collect', step('collect'));
        await ctx.exit({ result: 'early' });
      },
      { expected: 'sleep #1', position: 1 },
    ],
    [
      'reordered',
      async (ctx) => {
        await ctx.step('pay', step('pay'));
        await ctx.step('collect', step('collect'));
      },
      { expected: 'step collect #1', found: 'step pay #1', position: 0 },
    ],
    [
      'replaced by another call',
      async (ctx) => {
        await ctx.step('collect', step('collect'));
        await ctx.receive();
      },
      { expected: 'sleep #1', found: 'receive #1', position: 1 },
    ],
    [
      'never reached, because the body throws',
      async (ctx) => {
        await ctx.step('collect', step('collect'));
        throw new Error('a mistake');
      },
      { expected: 'sleep #1', found: 'the end of the body: a mistake', position: 1 },
    ],
  ])('refuses a body in which a call is %s', async (_what, body, facts) => {
    const history = await record(order);
    made = [];
    expect(await refusal(replay(history, imageOf(body)))).toMatchObject({ code: 'NON_DETERMINISTIC', facts });
    expect(made).toEqual([]);
  });

  it('takes a body that has changed behind a mark', async () => {
    const history = await record(order);
    const changed = imageOf(async (ctx) => {
      await ctx.step('collect', step('collect'));
      if (await ctx.patched('check')) await ctx.step('check', step('check'));
      await ctx.sleep(1_000);
      await ctx.step('pay', step('pay'));
      await ctx.log('paid');
    });
    expect(await replay(history, changed)).toMatchObject({ ok: true, calls: 3, isComplete: true });
  });

  it('of a process that still runs is complete as far as it goes', async () => {
    const waiting = imageOf(async (ctx) => {
      await ctx.step('collect', step('collect'));
      const { body } = await ctx.receive();
      return body;
    });
    const history = await record(waiting);
    expect(history.status).toBe('waiting');
    made = [];
    expect(await replay(history, waiting)).toEqual({
      ok: true,
      calls: 1,
      isComplete: false,
      nextCalls: ['receive #1'],
    });
    expect(made).toEqual([]);
  });

  it('holds the body to calls that had begun', async () => {
    const begun = imageOf(async (ctx) => {
      await ctx.step('collect', step('collect'));
      await ctx.sleep(7 * day);
    });
    const history = await record(begun);
    expect(await replay(history, begun)).toMatchObject({ isComplete: false, nextCalls: ['sleep #1'] });
    const other = imageOf(async (ctx) => {
      await ctx.step('collect', step('collect'));
      await ctx.step('pay', step('pay'));
    });
    expect(await refusal(replay(history, other))).toMatchObject({
      code: 'NON_DETERMINISTIC',
      facts: { expected: 'sleep #1', found: 'step pay #1', position: 1 },
    });
    const ending = imageOf((ctx) => ctx.step('collect', step('collect')));
    expect(await refusal(replay(history, ending))).toMatchObject({ facts: { expected: 'sleep #1' } });
  });

  it('finds its children, objects, messages and failures again', async () => {
    const child = defineImage({
      name: 'child',
      run: async (ctx, { n }: { n: number }) => {
        const note = await ctx.memory.create({ type: 'observation', name: 'note', payload: { seen: n } });
        if (n === 1) await ctx.send((await ctx.parent()) ?? '', { about: note });
        return n * 2;
      },
    });
    const parent = imageOf(async (ctx) => {
      const [first, ...others] = [
        await ctx.spawnChild({ image: 'child', args: { n: 1 } }),
        await ctx.spawnChild({ image: 'child', args: { n: 2 } }),
        await ctx.spawnChild({ image: 'child', args: { n: 3 } }),
      ] as const;
      const own = await ctx.memory.create({ type: 'observation', name: 'note', payload: { seen: 0 } });
      const { body } = await ctx.receive();
      const seen = [own, (body as { about: typeof own }).about, ctx.goal];
      const failure = await ctx.wait('p_none').catch(({ code }: { code: string }) => code);
      const values = [(await ctx.wait(first)).value, ...(await ctx.waitAll(others)).map(({ value }) => value)];
      const payloads = [];
      for (const ref of seen) payloads.push((await ctx.memory.read(ref)).payload);
      return { values, payloads, failure, pid: ctx.pid };
    });
    const kernel = await open({ images: [parent, child] });
    const pid = await kernel.processes.spawn({ image: 'order', goal: 'Double.' });
    const { value, outcome } = await kernel.processes.result(pid);
    expect(outcome).toEqual({ kind: 'completed' });
    const { result } = await replay(await historyOf(kernel, pid), parent);
    expect(result).toEqual(value);
    expect(result).toMatchObject({ values: [2, 4, 6], payloads: [{ seen: 0 }, { seen: 1 }, { text: 'Double.' }], pid });
  });

  it('finds the results of commands again', async () => {
    const shell = imageOf(async (ctx) => {
      const result = await ctx.run({ argv: [process.execPath, '-e', 'console.log(6 * 7)'] });
      return 'stdout' in result ? result.stdout.trim() : null;
    });
    const kernel = await open({ images: [shell] });
    const capabilities = [{ resource: 'command:**', rights: ['call'] as const }];
    const pid = await kernel.processes.spawn({ image: 'order', capabilities });
    expect(await kernel.processes.result(pid)).toMatchObject({ value: '42' });
    expect(await replay(await historyOf(kernel, pid), shell)).toMatchObject({ result: '42' });
  });

  it('is of an image with an input schema, requirements and retries too', async () => {
    const input = z.object({ at: z.string().transform((text) => text.length) });
    const requires = [{ resource: 'tool:x', rights: ['call'] as const }];
    const strict = imageOf(
      async (ctx, { at }: { at: number }) => {
        await ctx.step('collect', step('collect'));
        if (!(await ctx.capabilities.check('call', 'tool:x')).code.startsWith('ALLOWED'))
          throw new Error('not allowed');
        return at;
      },
      { input: input as never, requires, retry: { attempts: 3 } },
    );
    const history = await record(strict, {}, { args: { at: 'four' }, capabilities: requires });
    expect(await replay(history, strict)).toMatchObject({ result: 4 });
    const throwing = imageOf(
      (ctx) => ctx.step('collect', step('collect')).then(() => Promise.reject(new Error('no'))),
      {
        retry: { attempts: 3 },
      },
    );
    expect(await refusal(replay(history, throwing))).toMatchObject({
      code: 'NON_DETERMINISTIC',
      facts: { expected: 'exit', found: expect.stringContaining('no') },
    });
  });

  it('of a body that failed fails in the same way', async () => {
    const failing = imageOf((ctx) => ctx.step('collect', () => Promise.reject(new RangeError('too far'))));
    const history = await record(failing);
    expect(await replay(history, failing)).toMatchObject({
      isComplete: true,
      calls: 1,
      error: { code: 'RangeError', message: 'too far' },
    });
  });

  it('is of steps, and of agents with their models', async () => {
    const steps = defineSteps({
      name: 'order',
      steps: [
        { name: 'collect', run: () => 2 },
        { name: 'pay', run: (_ctx, state) => Number(state) + 1 },
      ],
    });
    expect(await replay(await record(steps), steps)).toMatchObject({ result: 3, calls: 2 });
    const look = defineTool({ name: 'look', description: 'Looks.', effect: 'pure', input: {}, run: () => 'blue' });
    const agent = (model: ScriptedModel) => agentImage({ name: 'order', model });
    const capabilities = ['model:**', 'tool:**'].map((resource) => ({ resource, rights: ['call'] }));
    const script = [{ toolCalls: [{ name: 'look' }] }, 'It is blue.'];
    const history = await record(agent(scriptedModel(script)), { tools: [look] }, { goal: 'Look.', capabilities });
    const unasked = scriptedModel([]);
    expect(await replay(history, agent(unasked))).toMatchObject({ isComplete: true, result: { text: 'It is blue.' } });
    expect(unasked.calls).toEqual([]);
  });

  it('refuses what is no history, another image, and a body that hangs', async () => {
    const history = await record(order);
    expect(await refusal(replay({} as never, order))).toMatchObject({ facts: { path: 'history' } });
    expect(await refusal(replay({ ...history, format: 2 as never }, order))).toMatchObject({ code: 'INVALID_INPUT' });
    const other = defineImage({ name: 'other', run: () => null });
    expect(await refusal(replay(history, other))).toMatchObject({ code: 'INVALID_INPUT', facts: { path: 'image' } });
    const hanging = imageOf(() => new Promise<never>(() => undefined));
    expect(await refusal(replay(history, hanging, { timeoutMs: 50 }))).toMatchObject({ code: 'WAIT_TIMEOUT' });
    const kernel = await open();
    expect(await refusal(historyOf(kernel, 'p_none'))).toMatchObject({ code: 'NO_SUCH_PROCESS' });
  });
});
