import { Command, interrupt, MemorySaver } from '@langchain/langgraph';
import { AIMessage, createAgent, createMiddleware, ToolMessage, todoListMiddleware, tool } from 'langchain';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineImage } from '../../../src/index.js';
import {
  governTools,
  invokeAgent,
  modelResource,
  procuraMiddleware,
  toolsFor,
} from '../../../src/integrations/langchain/index.js';
import { eventually } from '../../support/eventually.js';
import {
  callAllTools,
  callFake,
  conversationModel,
  recordingTool,
  startLangChain,
} from '../../support/integrations/langchain-fixture.js';
import { openKernel, refusal } from '../../support/kernel.js';

describe('tools of LangChain that the kernel governs', () => {
  it('are tools of the kernel, with their schema and the effect that they were given', async () => {
    const kernel = await openKernel();
    const tools = [recordingTool('search', []), recordingTool('publish', [])];
    using _registered = governTools(kernel, tools, { prefix: 'web', effects: { search: 'pure' } });
    const infos = kernel.tools.list().filter(({ name }) => name.startsWith('web.'));
    expect(infos).toMatchObject([
      { name: 'web.search', description: 'Does search.', effect: 'pure', input: { required: ['text'] } },
      { name: 'web.publish', effect: 'once' },
    ]);
  });

  it('can be called by any process, without LangChain', async () => {
    const done: string[] = [];
    const kernel = await openKernel();
    governTools(kernel, [recordingTool('search', done)], { prefix: 'web' });
    const pid = await kernel.processes.spawn({ capabilities: [callAllTools] });
    expect(await kernel.as(pid).tools.call('web.search', { text: 'tides' })).toBe('did tides');
    expect(await refusal(kernel.as(pid).tools.call('web.search', { text: 5 }))).toMatchObject({
      code: 'INVALID_INPUT',
    });
    expect(done).toEqual(['search tides']);
  });

  it('parse their arguments once', async () => {
    const schema = z.object({ text: z.string().transform((text) => `${text}!`) });
    const shout = tool(({ text }) => text, { name: 'shout', description: 'Shouts.', schema });
    const kernel = await openKernel();
    governTools(kernel, [shout], { prefix: 'lc' });
    const pid = await kernel.processes.spawn({ capabilities: [callAllTools] });
    expect(await kernel.as(pid).tools.call('lc.shout', { text: 'hey' })).toBe('hey!');
  });

  it('are given to a process in the form of LangChain, with refusals as messages', async () => {
    const kernel = await openKernel();
    const toolsOf = governTools(kernel, [recordingTool('search', [])], { prefix: 'web' });
    const call = { type: 'tool_call', id: 'c1', name: 'search', args: { text: 'tides' } } as const;
    const allowed = await kernel.processes.spawn({ capabilities: [callAllTools] });
    const [search] = toolsOf(kernel.as(allowed));
    expect(search?.name).toBe('search');
    const message = await search?.invoke(call);
    expect(message).toBeInstanceOf(ToolMessage);
    expect(message).toMatchObject({ content: 'did tides', tool_call_id: 'c1', status: 'success' });
    expect(await search?.invoke({ text: 'winds' })).toBe('did winds');
    const [refused] = toolsOf(kernel.as(await kernel.processes.spawn()));
    const refusedMessage = (await refused?.invoke(call)) as unknown as ToolMessage;
    expect(refusedMessage.status).toBe('error');
    expect(JSON.parse(refusedMessage.text)).toMatchObject({ error: { code: 'CAPABILITY_DENIED' } });
  });

  it('get the state of the agent and their runtime, and may have an artifact', async () => {
    const seen: unknown[] = [];
    const counted = tool(
      ({ text }: { text: string }, config) => {
        seen.push((config as { state: { messages: unknown[] } }).state.messages.length, config.configurable?.user);
        return [`about ${text}`, { pages: 3 }];
      },
      {
        name: 'counted',
        description: 'Counts.',
        schema: z.object({ text: z.string() }),
        responseFormat: 'content_and_artifact',
      },
    );
    const model = conversationModel([{ calls: [['counted', { text: 'tides' }]] }, 'done']);
    const { kernel, pid } = await startLangChain({ model, tools: [counted] });
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited' });
    expect(seen[0]).toBe(2);
    expect(model.calls[1]?.messages.at(-1)).toMatchObject({ content: 'about tides', artifact: { pages: 3 } });
  });

  it('that fail are told to the model', async () => {
    const model = conversationModel([{ calls: [['search', { text: 'tides' }]] }, 'done']);
    const failing = recordingTool('search', [], () => {
      throw new Error('the line is dead');
    });
    const { kernel, pid } = await startLangChain({ model, tools: [failing] });
    const { value } = await kernel.processes.result(pid);
    expect(JSON.parse((value as string[])[2] ?? '')).toMatchObject({ error: { code: 'TOOL_FAILED' } });
    expect((value as string[])[2]).toContain('the line is dead');
  });

  it('may not interrupt the graph, nor return a command, and the model reads why', async () => {
    const schema = z.object({});
    const asking = tool(() => String(interrupt('sure?')), { name: 'asking', description: 'Asks.', schema });
    const moving = tool(() => new Command({ goto: 'elsewhere' }), { name: 'moving', description: 'Moves.', schema });
    const model = conversationModel([
      {
        calls: [
          ['asking', {}],
          ['moving', {}],
        ],
      },
      'done',
    ]);
    const image = defineImage({
      name: 'agent',
      run: async (ctx) => {
        const middleware = [procuraMiddleware(ctx, { prefix: 'lc' })];
        const agent = createAgent({ model, tools: [asking, moving], middleware, checkpointer: new MemorySaver() });
        const input = { messages: [{ role: 'user', content: 'Go.' }] };
        const { messages } = await invokeAgent(ctx, agent, input, { configurable: { thread_id: '1' } });
        return messages.map((message) => message.text);
      },
    });
    const kernel = await openKernel({ images: [image] });
    governTools(kernel, [asking, moving], { prefix: 'lc' });
    const pid = await kernel.processes.spawn({ image: 'agent', capabilities: [callFake, callAllTools] });
    const { value } = await kernel.processes.result(pid);
    expect((value as string[])[2]).toContain('ctx.ask');
    expect((value as string[])[3]).toContain('stateTools');
  });

  it('are registered all or none, with options that fit', async () => {
    const kernel = await openKernel();
    const count = kernel.tools.list().length;
    const search = recordingTool('search', []);
    const refusalOf = (options: object, tools = [search]) =>
      refusal(Promise.resolve().then(() => governTools(kernel, tools, options as never)));
    expect(await refusalOf({ prefix: 'lc' }, [search, search])).toMatchObject({ code: 'CONFLICT' });
    for (const wrong of [
      {},
      { prefix: '' },
      { prefix: 'a b' },
      { prefix: 'lc', effect: 'twice' },
      { prefix: 'lc', effects: { other: 'pure' } },
    ]) {
      expect(await refusalOf(wrong)).toMatchObject({ code: 'INVALID_INPUT' });
    }
    expect(await refusalOf({ prefix: 'lc' }, [recordingTool('bad name', [])])).toMatchObject({ code: 'INVALID_INPUT' });
    expect(kernel.tools.list()).toHaveLength(count);
    governTools(kernel, [search], { prefix: 'lc' })[Symbol.dispose]();
    expect(kernel.tools.list()).toHaveLength(count);
  });
});

describe('the tools of the kernel for LangChain', () => {
  it('give values and refusals, also outside of an agent', async () => {
    const kernel = await openKernel();
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:kernel.check', rights: ['call'] }] });
    const offered = await toolsFor(kernel.as(pid));
    expect(offered.length).toBeGreaterThan(5);
    expect(offered.every(({ name }) => /^[A-Za-z0-9_-]+$/.test(name))).toBe(true);
    const list = offered.find(({ name }) => name === 'fs_list');
    const refused = (await list?.invoke({
      type: 'tool_call',
      id: 'c1',
      name: 'fs_list',
      args: { path: '.' },
    })) as ToolMessage;
    expect(refused).toMatchObject({ status: 'error', tool_call_id: 'c1' });
    expect(JSON.parse(refused.text)).toMatchObject({ error: { code: 'CAPABILITY_DENIED' } });
    expect(await refusal(toolsFor(kernel.as(pid), { only: ['nothing'] }))).toMatchObject({ code: 'INVALID_INPUT' });
  });

  it('are given up with the agent', async () => {
    let began = false;
    const slow = recordingTool('slow', [], () => {
      began = true;
      return new Promise(() => undefined);
    });
    const kernel = await openKernel();
    governTools(kernel, [slow], { prefix: 'lc' });
    const pid = await kernel.processes.spawn({ capabilities: [callAllTools] });
    const [offered] = await toolsFor(kernel.as(pid), { only: ['lc.slow'] });
    const controller = new AbortController();
    const calling = offered?.invoke({ text: 'x' }, { signal: controller.signal });
    await eventually(() => expect(began).toBe(true));
    controller.abort();
    await expect(calling).rejects.toThrow();
    await eventually(async () => {
      const { items } = await kernel.audit.list({ action: 'tool.call' });
      expect(items.at(-1)?.outcome).toBe('unknown');
    });
  });
});

describe('middleware of the kernel for LangChain', () => {
  it('leaves tools that only change the state of the agent to it', async () => {
    const model = conversationModel([
      { calls: [['write_todos', { todos: [{ content: 'look', status: 'pending' }] }]] },
      'done',
    ]);
    const image = defineImage({
      name: 'planner',
      run: async (ctx) => {
        const middleware: object[] = [
          todoListMiddleware(),
          procuraMiddleware(ctx, { prefix: 'lc', stateTools: ['write_todos'] }),
        ];
        const agent = createAgent({ model, middleware: middleware as never[] });
        const state: object = await invokeAgent(ctx, agent, { messages: [{ role: 'user', content: 'Plan.' }] });
        return (state as { todos: { content: string; status: string }[] }).todos;
      },
    });
    const kernel = await openKernel({ images: [image] });
    const pid = await kernel.processes.spawn({ image: 'planner', capabilities: [callFake] });
    expect((await kernel.processes.result(pid)).value).toEqual([{ content: 'look', status: 'pending' }]);
  });

  it('stands at the end: middleware behind it may not answer, nor bring another model', async () => {
    const other = conversationModel(['other']);
    const replacing = createMiddleware({
      name: 'replacing',
      wrapModelCall: (request, handler) => handler({ ...request, model: other }),
    });
    const answering = createMiddleware({ name: 'answering', wrapModelCall: () => new AIMessage('made up') });
    for (const behind of [replacing, answering]) {
      const image = defineImage({
        name: 'agent',
        run: async (ctx) => {
          const middleware = [procuraMiddleware(ctx, { prefix: 'lc' }), behind];
          const agent = createAgent({ model: conversationModel(['mine']), middleware });
          await invokeAgent(ctx, agent, { messages: [{ role: 'user', content: 'Go.' }] });
        },
      });
      const kernel = await openKernel({ images: [image] });
      const pid = await kernel.processes.spawn({ image: 'agent', capabilities: [callFake] });
      const { outcome } = await kernel.processes.result(pid);
      expect(outcome).toMatchObject({ reason: 'INVALID_INPUT', evidence: { facts: { path: 'middleware' } } });
    }
  });

  it('refuses options that do not fit', async () => {
    const refusalOf = (options: object) =>
      refusal(Promise.resolve().then(() => procuraMiddleware({} as never, options as never)));
    for (const wrong of [{}, { prefix: '..' }, { prefix: 'lc', cost: 5 }, { prefix: 'lc', tools: [] }]) {
      expect(await refusalOf(wrong)).toMatchObject({ code: 'INVALID_INPUT' });
    }
    expect(await refusal(Promise.resolve().then(() => modelResource({} as never)))).toMatchObject({
      code: 'INVALID_INPUT',
    });
  });
});
