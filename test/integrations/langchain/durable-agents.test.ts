import { AIMessage, type BaseMessage, createAgent, summarizationMiddleware, toolStrategy } from 'langchain';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineImage, type JsonValue, type Syscalls } from '../../../src/index.js';
import {
  durableModel,
  governTools,
  invokeAgent,
  procuraMiddleware,
} from '../../../src/integrations/langchain/index.js';
import { eventually } from '../../support/eventually.js';
import { gate } from '../../support/gate.js';
import {
  callAllTools,
  callFake,
  conversationModel,
  langChainImage,
  recordingTool,
  startLangChain,
} from '../../support/integrations/langchain-fixture.js';
import { newStore, openKernel, refusal } from '../../support/kernel.js';
import { findInconsistencies } from '../../support/store-consistency.js';

describe('an agent of LangChain whose kernel is closed', () => {
  it('goes on where it was: no turn is asked again, no call is made again, nothing is paid again', async () => {
    const store = await newStore();
    const { opened, open } = gate();
    const done: string[] = [];
    const tools = [
      recordingTool('note', done, async (text) => {
        if (text === 'slow') await opened;
        return text;
      }),
    ];
    const turns = [
      { calls: [['note', { text: 'first' }]] as const },
      {
        calls: [
          ['note', { text: 'second' }],
          ['note', { text: 'slow' }],
        ] as const,
      },
      'done',
    ];
    const before = conversationModel(turns);
    const { kernel, pid } = await startLangChain({ model: before, tools }, {}, { store });
    await eventually(() => expect(done).toEqual(['note first', 'note second', 'note slow']));
    await eventually(async () => expect((await kernel.processes.budget(pid)).toolCalls.used).toBe(2));
    await kernel.shutdown({ graceMs: 0 });

    const after = conversationModel(turns);
    const again = await openKernel({ store, images: [langChainImage({ model: after, tools })] });
    governTools(again, tools, { prefix: 'lc' });
    const { value } = await again.processes.result(pid);
    open();
    const texts = value as string[];
    expect(texts.slice(0, 5)).toEqual(['Begin.', '', 'first', '', 'second']);
    expect(JSON.parse(texts[5] ?? '')).toMatchObject({ error: { code: 'OUTCOME_UNKNOWN' } });
    expect(texts[6]).toBe('done');
    expect([before.callCount, after.callCount]).toEqual([2, 1]);
    expect(done).toEqual(['note first', 'note second', 'note slow']);
    expect((await again.processes.get(pid)).used).toMatchObject({ tokens: 45 });
    expect(await findInconsistencies(again)).toEqual([]);
  });

  it('asks again the turn that was under way, whose answer nobody has heard', async () => {
    const store = await newStore();
    const held = conversationModel([]);
    let asked = 0;
    held.bindTools = () => held.withConfig({}) as never;
    held._generate = () => {
      asked++;
      return new Promise(() => undefined);
    };
    const { kernel, pid } = await startLangChain({ model: held }, {}, { store });
    await eventually(() => expect(asked).toBe(1));
    await kernel.shutdown({ graceMs: 0 });
    const again = await openKernel({ store, images: [langChainImage({ model: conversationModel(['here I am']) })] });
    expect(await again.processes.result(pid)).toMatchObject({ value: ['Begin.', 'here I am'] });
    expect((await again.processes.get(pid)).used).toMatchObject({ tokens: 15 });
  });

  it('parses a structured answer again that is on record', async () => {
    const schema = z.object({ place: z.string(), hour: z.number() });
    const model = () =>
      conversationModel([{ calls: [['tide', { place: 5 }]] }, { calls: [['tide', { place: 'Brest', hour: 9 }]] }]);
    const body = (asked: ReturnType<typeof model>, rest: () => Promise<void>) => async (ctx: Syscalls) => {
      const agent = createAgent({
        model: asked,
        responseFormat: toolStrategy({ ...z.toJSONSchema(schema), title: 'tide' } as never),
        middleware: [procuraMiddleware(ctx, { prefix: 'lc' })],
      });
      const state: object = await invokeAgent(ctx, agent, { messages: [{ role: 'user', content: 'When?' }] });
      await rest();
      return (state as { structuredResponse: JsonValue }).structuredResponse;
    };
    const store = await newStore();
    let isHeld = false;
    const before = model();
    const holding = defineImage({
      name: 'agent',
      run: body(before, () => {
        isHeld = true;
        return new Promise(() => undefined);
      }),
    });
    const kernel = await openKernel({ store, images: [holding] });
    const pid = await kernel.processes.spawn({ image: 'agent', capabilities: [callFake] });
    await eventually(() => expect(isHeld).toBe(true));
    await kernel.shutdown({ graceMs: 0 });
    const after = model();
    const again = await openKernel({
      store,
      images: [defineImage({ name: 'agent', run: body(after, async () => undefined) })],
    });
    expect((await again.processes.result(pid)).value).toEqual({ place: 'Brest', hour: 9 });
    expect([before.callCount, after.callCount]).toEqual([2, 0]);
  });
});

describe('a durable model of LangChain', () => {
  it('is asked once, by invoke and as a stream, and charged each time', async () => {
    const store = await newStore();
    let runs = 0;
    const model = conversationModel(['one', 'two']);
    const image = defineImage({
      name: 'asker',
      run: async (ctx) => {
        runs++;
        const durable = durableModel(ctx, model);
        const first = await durable.invoke('Hello?');
        let streamed = '';
        for await (const chunk of await durable.stream([first])) streamed += chunk.text;
        if (runs === 1) await new Promise(() => undefined);
        return [first.text, streamed];
      },
    });
    const kernel = await openKernel({ store, images: [image] });
    const pid = await kernel.processes.spawn({ image: 'asker', capabilities: [callFake] });
    await eventually(async () => expect((await kernel.processes.get(pid)).used.tokens).toBe(30));
    await kernel.shutdown({ graceMs: 0 });
    const again = await openKernel({ store, images: [image] });
    expect((await again.processes.result(pid)).value).toEqual(['one', 'two']);
    expect([runs, model.callCount]).toEqual([2, 2]);
    expect((await again.processes.get(pid)).used.tokens).toBe(30);
  });

  it('is refused what cannot be durable, and what is no model', async () => {
    const image = defineImage({
      name: 'asker',
      run: async (ctx) => {
        const model = durableModel(ctx, conversationModel(['never']));
        const refused = [
          await refusal(Promise.resolve().then(() => model.generate([]))),
          await refusal(Promise.resolve().then(() => durableModel(ctx, {} as never))),
          await refusal(Promise.resolve().then(() => durableModel(ctx, model, { price: 5 } as never))),
        ];
        return refused.map(({ code }) => code);
      },
    });
    const kernel = await openKernel({ images: [image] });
    const pid = await kernel.processes.spawn({ image: 'asker' });
    expect((await kernel.processes.result(pid)).value).toEqual(['INVALID_INPUT', 'INVALID_INPUT', 'INVALID_INPUT']);
  });

  it('serves middleware that asks a model of its own', async () => {
    const small = conversationModel(['in short']);
    const image = defineImage({
      name: 'agent',
      run: async (ctx) => {
        const agent = createAgent({
          model: conversationModel(['done', 'done', 'done']),
          middleware: [summarizing(durableModel(ctx, small)), procuraMiddleware(ctx, { prefix: 'lc' })] as never[],
        });
        const messages: BaseMessage[] = [new AIMessage('a'), new AIMessage('b')];
        await invokeAgent(ctx, agent, { messages: [{ role: 'user', content: 'x' }, ...messages] } as never);
        return small.callCount;
      },
    });
    const kernel = await openKernel({ images: [image] });
    const pid = await kernel.processes.spawn({ image: 'agent', capabilities: [callFake, callAllTools] });
    const result = await kernel.processes.result(pid);
    expect((await kernel.processes.journal(pid)).filter(({ key }) => key.startsWith('step turn'))).not.toEqual([]);
    expect([result.value, result.outcome]).toMatchObject([1, { kind: 'completed' }]);
  });
});

function summarizing(model: ReturnType<typeof conversationModel>): object {
  const options = { model: model as never, trigger: { messages: 2 }, keep: { messages: 1 } };
  return summarizationMiddleware(options as never);
}
