import { generateText, stepCountIs, streamText, ToolLoopAgent } from 'ai';
import { describe, expect, it } from 'vitest';
import { defineImage, type JsonValue, type KernelOptions, type Syscalls } from '../../../src/index.js';
import { type GovernedModelOptions, governedModel, toolsFor } from '../../../src/integrations/ai-sdk/index.js';
import { type ScriptedModel, scriptedModel } from '../../../src/testing/index.js';
import { PartReader } from '../../support/agent-parts.js';
import { eventually } from '../../support/eventually.js';
import { gate } from '../../support/gate.js';
import { add, callTools, simpleTool } from '../../support/integrations/agent-fixture.js';
import { newStore, openKernel } from '../../support/kernel.js';
import { findInconsistencies } from '../../support/store-consistency.js';

const callModel = { resource: 'model:scripted/test', rights: ['call' as const] };

/** A process whose body is `run`, on a new kernel. */
async function start(
  run: (ctx: Syscalls) => Promise<JsonValue>,
  { budget = {}, ...options }: KernelOptions & { budget?: object } = {},
) {
  const kernel = await openKernel({ tools: [add], ...options, images: [defineImage({ name: 'body', run })] });
  const pid = await kernel.processes.spawn({ image: 'body', capabilities: [callModel, callTools], budget });
  return { kernel, pid };
}

const script = [{ text: 'Let me see.', toolCalls: [{ name: 'math.add', args: { a: 2, b: 3 } }] }, 'The sum is 5.'];

/** Each way of the SDK to run a loop with tools, on a governed model. */
const loops: [string, (ctx: Syscalls, model: ScriptedModel, options?: GovernedModelOptions) => Promise<string>][] = [
  [
    'generateText',
    async (ctx, model, options) => {
      const tools = await toolsFor(ctx, { only: ['math.add'] });
      const governed = governedModel(ctx, model, options);
      const { text } = await generateText({ model: governed, prompt: 'Add.', tools, stopWhen: stepCountIs(5) });
      return text;
    },
  ],
  [
    'streamText',
    async (ctx, model, options) => {
      const tools = await toolsFor(ctx, { only: ['math.add'] });
      const governed = governedModel(ctx, model, options);
      const result = streamText({ model: governed, prompt: 'Add.', tools, stopWhen: stepCountIs(5) });
      return (await result.steps).at(-1)?.text ?? '';
    },
  ],
  [
    'ToolLoopAgent',
    async (ctx, model, options) => {
      const agent = new ToolLoopAgent({
        model: governedModel(ctx, model, options),
        tools: await toolsFor(ctx, { only: ['math.add'] }),
      });
      const { text } = await agent.generate({ prompt: 'Add.' });
      return text;
    },
  ],
];

describe.each(loops)('a governed model in %s', (_, loop) => {
  it('asks by the authority of the process, and is charged what it reports', async () => {
    const model = scriptedModel(script);
    const { kernel, pid } = await start((ctx) => loop(ctx, model));
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited', value: 'The sum is 5.' });
    expect(model.calls).toHaveLength(2);
    expect((await kernel.processes.budget(pid)).tokens).toMatchObject({ used: 30, reserved: 0 });
    expect((await kernel.processes.get(pid)).used).toMatchObject({ toolCalls: 1 });
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('is refused without the capability, and the model is not asked', async () => {
    const model = scriptedModel(script);
    const kernel = await openKernel({
      tools: [add],
      images: [defineImage({ name: 'body', run: (ctx) => loop(ctx, model) })],
    });
    const pid = await kernel.processes.spawn({ image: 'body', capabilities: [callTools] });
    const { outcome } = await kernel.processes.result(pid);
    expect(outcome.kind).toBe('failed');
    expect(model.calls).toEqual([]);
    const refused = (await kernel.audit.list({ actor: pid, decision: 'deny' })).items;
    expect(refused).toMatchObject([{ resource: 'model:scripted/test', right: 'call' }]);
  });

  it('is not asked again after a restart, and charges once', async () => {
    const store = await newStore();
    const held = gate();
    let isFirst = true;
    const body = async (ctx: Syscalls): Promise<JsonValue> => {
      const text = await loop(ctx, model);
      // The first run is given up here, with both turns on record.
      if (isFirst) await held.opened;
      await ctx.step('end', () => 1);
      return text;
    };
    let model = scriptedModel(script);
    const first = await start(body, { store });
    const reader = new PartReader(first.kernel, first.pid);
    await eventuallyTold(reader, '2 turn-end');
    const before = model;
    isFirst = false;
    model = scriptedModel([{ error: new Error('asked again') }]);
    await first.kernel.shutdown({ graceMs: 0 });
    held.open();
    const again = await openKernel({ store, tools: [add], images: [defineImage({ name: 'body', run: body })] });
    expect(await again.processes.result(first.pid)).toMatchObject({ status: 'exited', value: 'The sum is 5.' });
    expect([before.calls.length, model.calls.length]).toEqual([2, 0]);
    expect((await again.processes.get(first.pid)).used).toMatchObject({ tokens: 30, toolCalls: 1 });
    expect(await findInconsistencies(again)).toEqual([]);
  });

  it('tells its turns to those who listen, also to one who comes late', async () => {
    const { kernel, pid } = await start((ctx) => loop(ctx, scriptedModel(script)));
    const early = new PartReader(kernel, pid);
    await kernel.processes.result(pid);
    await early.done;
    const late = new PartReader(kernel, pid);
    await late.done;
    for (const reader of [early, late]) {
      expect([reader.textOf(1), reader.textOf(2)]).toEqual(['Let me see.', 'The sum is 5.']);
      const results = reader.parts.filter(({ type }) => type === 'tool-result');
      expect(results).toMatchObject([{ turn: 1, id: 'call-1-1', result: 5 }]);
    }
    expect(late.told).toEqual([
      '1 turn-start',
      '1 text Let me see.',
      '1 tool-call call-1-1',
      '1 turn-end',
      '1 tool-result call-1-1',
      '2 turn-start',
      '2 text The sum is 5.',
      '2 turn-end',
      '2 end completed',
    ]);
  });
});

async function eventuallyTold(reader: PartReader, told: string): Promise<void> {
  await eventually(() => expect(reader.told).toContain(told));
}

describe('the budget of a governed model', () => {
  it('lowers maxOutputTokens to what is left, and refuses a turn that has nothing left', async () => {
    const model = scriptedModel([{ text: 'One.', usage: { inputTokens: 4, outputTokens: 90 } }, 'never']);
    const { kernel, pid } = await start(
      async (ctx) => {
        const governed = governedModel(ctx, model);
        await generateText({ model: governed, prompt: 'Go.', maxOutputTokens: 5_000 });
        return (await generateText({ model: governed, prompt: 'Go.', maxOutputTokens: 5_000 })).text;
      },
      { budget: { tokens: 100 } },
    );
    expect(await kernel.processes.result(pid)).toMatchObject({
      status: 'failed',
      outcome: { reason: 'BUDGET_EXCEEDED', evidence: { facts: { dimension: 'tokens', process: pid } } },
    });
    expect(model.calls).toHaveLength(1);
    const { maxOutputTokens = Number.NaN } = model.calls[0] ?? {};
    expect(maxOutputTokens).toBeGreaterThan(80);
    expect(maxOutputTokens).toBeLessThan(100);
    expect((await kernel.processes.budget(pid)).tokens).toMatchObject({ used: 94, reserved: 0, overrun: 0 });
  });

  it('leaves an answer without a limit where nothing limits it', async () => {
    const model = scriptedModel(['One.']);
    const { kernel, pid } = await start(async (ctx) => {
      await generateText({ model: governedModel(ctx, model), prompt: 'Go.' });
      return null;
    });
    expect((await kernel.processes.result(pid)).status).toBe('exited');
    expect(model.calls[0]?.maxOutputTokens).toBeUndefined();
  });

  it('limits an answer by its price', async () => {
    const model = scriptedModel([{ text: 'One.', usage: { inputTokens: 5, outputTokens: 10 } }]);
    const { kernel, pid } = await start(
      async (ctx) => {
        const governed = governedModel(ctx, model, { cost: ({ outputTokens }) => outputTokens * 3 });
        return (await generateText({ model: governed, prompt: 'Go.' })).text;
      },
      { budget: { costMicros: 100 } },
    );
    expect((await kernel.processes.result(pid)).status).toBe('exited');
    expect(model.calls[0]?.maxOutputTokens).toBe(33);
    expect((await kernel.processes.budget(pid)).costMicros).toMatchObject({ used: 30, reserved: 0 });
  });

  it('counts an attempt that the caller gives up', async () => {
    const asked = gate();
    const giveUp = new AbortController();
    const model = scriptedModel([
      (_, call) => {
        asked.open();
        const { abortSignal } = call as { abortSignal?: AbortSignal };
        return new Promise((_resolve, reject) =>
          abortSignal?.addEventListener('abort', () => reject(abortSignal.reason)),
        );
      },
    ]);
    const { kernel, pid } = await start(async (ctx) => {
      const governed = governedModel(ctx, model, { maxOutputTokens: 50 });
      const { signal: abortSignal } = giveUp;
      return generateText({ model: governed, prompt: 'Go.', abortSignal }).then(
        () => 'answered',
        (error: Error) => error.name,
      );
    });
    await asked.opened;
    giveUp.abort();
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited', value: 'AbortError' });
    const { used, reserved } = (await kernel.processes.budget(pid)).tokens;
    expect(used).toBeGreaterThan(50);
    expect(reserved).toBe(0);
  });
});

describe('a stream of a governed model', () => {
  it('passes text before the turn is on record, and runs no tool before', async () => {
    const rest = gate();
    const model = scriptedModel(script);
    const slow = {
      ...model,
      doStream: async (call: Parameters<typeof model.doStream>[0]) => {
        const { stream } = await model.doStream(call);
        if (model.calls.length > 1) return { stream };
        const held = new TransformStream({
          transform: async (part, controller) => {
            if ((part as { type: string }).type === 'finish') await rest.opened;
            controller.enqueue(part);
          },
        });
        return { stream: stream.pipeThrough(held) as typeof stream };
      },
    };
    const begun: string[] = [];
    const tool = simpleTool('math.add', () => {
      begun.push('tool');
      return 5;
    });
    const { kernel, pid } = await start(
      async (ctx) => {
        const governed = governedModel(ctx, slow);
        const tools = await toolsFor(ctx, { only: ['math.add'] });
        const result = streamText({ model: governed, prompt: 'Add.', tools, stopWhen: stepCountIs(5) });
        let text = '';
        for await (const delta of result.textStream) {
          text += delta;
          if (text === 'Let me see.') {
            // All that was said has come, and the turn is not committed: its call waits.
            expect((await kernel.processes.journal(pid)).some(({ key }) => key.startsWith('tool'))).toBe(false);
            begun.push('text');
            rest.open();
          }
        }
        return text;
      },
      { tools: [tool] },
    );
    expect(await kernel.processes.result(pid)).toMatchObject({ value: 'Let me see.The sum is 5.' });
    expect(begun).toEqual(['text', 'tool']);
    // The tool was called by the body, and not in the step of the turn.
    expect((await kernel.processes.journal(pid)).map(({ key }) => key)).toContain('tool math.add #1');
  });

  it('is asked again when it fails before it has said anything, and fails after', async () => {
    let attempts = 0;
    const flaky = (failsAfter: string[]) => {
      const model = scriptedModel(['Hello.', 'Hello.', 'Hello.']);
      return {
        ...model,
        doStream: async (call: Parameters<typeof model.doStream>[0]) => {
          attempts++;
          if (attempts > 1) return model.doStream(call);
          const parts = [
            { type: 'stream-start', warnings: [] },
            ...failsAfter.flatMap((delta) => [
              { type: 'text-start', id: '1' },
              { type: 'text-delta', id: '1', delta },
            ]),
            { type: 'error', error: Object.assign(new Error('cut off'), { isRetryable: true }) },
          ];
          return {
            stream: ReadableStream.from(parts) as object as Awaited<ReturnType<typeof model.doStream>>['stream'],
          };
        },
      };
    };
    const say = (model: ReturnType<typeof flaky>) => async (ctx: Syscalls) => {
      const governed = governedModel(ctx, model, { retry: { attempts: 2, baseMs: 1 } });
      let problem = '';
      const result = streamText({
        model: governed,
        prompt: 'Go.',
        onError: ({ error }) => {
          problem = (error as { code: string }).code;
        },
      });
      let text = '';
      for await (const delta of result.textStream) text += delta;
      return { text, problem };
    };
    const quiet = await start(say(flaky([])));
    expect(await quiet.kernel.processes.result(quiet.pid)).toMatchObject({ value: { text: 'Hello.', problem: '' } });
    expect(attempts).toBe(2);
    attempts = 0;
    const loud = await start(say(flaky(['Hel'])));
    expect(await loud.kernel.processes.result(loud.pid)).toMatchObject({
      value: { text: 'Hel', problem: 'MODEL_FAILED' },
    });
    expect(attempts).toBe(1);
  });
});

describe('the record of a governed model', () => {
  it.each(['none', 'hash', 'full'] as const)('keeps %s of requests and answers', async (record) => {
    const model = scriptedModel(['The answer.']);
    const { kernel, pid } = await start(async (ctx) => {
      const governed = governedModel(ctx, model, { record });
      return (await generateText({ model: governed, prompt: 'The question.' })).text;
    });
    await kernel.processes.result(pid);
    const [turn] = (await kernel.audit.list({ action: 'turn.commit' })).items;
    const text = JSON.stringify(turn);
    expect(text.includes('The question.')).toBe(record === 'full');
    expect(text.includes('The answer.')).toBe(record === 'full');
    expect(text.includes('requestHash')).toBe(record !== 'none');
  });
});

it('refuses what is no model, and options that it does not know', async () => {
  const { kernel, pid } = await start(async (ctx) => {
    const problems: string[] = [];
    for (const make of [
      () => governedModel(ctx, {} as never),
      () => governedModel(ctx, scriptedModel([]), { temperature: 1 } as never),
    ]) {
      try {
        make();
      } catch (error) {
        problems.push((error as { code: string }).code);
      }
    }
    return problems;
  });
  expect(await kernel.processes.result(pid)).toMatchObject({ value: ['INVALID_INPUT', 'INVALID_INPUT'] });
});
