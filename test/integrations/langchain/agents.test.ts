import { AIMessage } from 'langchain';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../../src/index.js';
import { PartReader } from '../../support/agent-parts.js';
import { eventually } from '../../support/eventually.js';
import {
  callAllTools,
  callFake,
  conversationModel,
  recordingTool,
  startLangChain,
} from '../../support/integrations/langchain-fixture.js';
import { findInconsistencies } from '../../support/store-consistency.js';

const searchTwice = [
  { calls: [['search', { text: 'one' }]] },
  { calls: [['search', { text: 'two' }]] },
  'done',
] as const;
const searchOnce = [{ calls: [['search', { text: 'tides' }]] }, 'done'] as const;

describe('an agent of LangChain', () => {
  it('asks its model and calls its tools through the kernel', async () => {
    const done: string[] = [];
    const model = conversationModel([{ calls: [['search', { text: 'tides' }]] }, 'They rise.']);
    const { kernel, pid } = await startLangChain({ model, tools: [recordingTool('search', done)] });
    const result = await kernel.processes.result(pid);
    expect(result).toMatchObject({ status: 'exited', value: ['Begin.', '', 'did tides', 'They rise.'] });
    expect(done).toEqual(['search tides']);
    expect((await kernel.processes.get(pid)).used).toMatchObject({ tokens: 30, toolCalls: 1 });
    const keys = (await kernel.processes.journal(pid)).map(({ key }) => key);
    expect(keys.filter((key) => /^(step|tool)/.test(key))).toEqual([
      'step turn #1',
      'tool lc.search #1',
      'step turn #2',
    ]);
    const records = (await kernel.audit.list({ action: 'tool.call' })).items;
    expect(records.map(({ outcome, actor }) => [outcome, actor])).toEqual([
      ['intent', pid],
      ['ok', pid],
    ]);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('reads why a tool is refused, which then does not run', async () => {
    const done: string[] = [];
    const model = conversationModel(searchOnce);
    const setup = { model, tools: [recordingTool('search', done)] };
    const { kernel, pid } = await startLangChain(setup, { capabilities: [callFake] });
    const { value } = await kernel.processes.result(pid);
    const [, , told = ''] = value as string[];
    expect(JSON.parse(told)).toMatchObject({
      error: { code: 'CAPABILITY_DENIED', missing: { right: 'call', resource: 'tool:lc.search' } },
    });
    expect(done).toEqual([]);
    expect(model.calls[1]?.messages.at(-1)).toMatchObject({
      status: 'error',
      name: 'search',
      tool_call_id: 'call-0-0',
    });
    expect((await kernel.audit.list({ action: 'tool.call' })).items.map(({ outcome }) => outcome)).toEqual(['refused']);
  });

  it('tells its turns to those who listen, with results and refusals, and keeps of them what it is told to', async () => {
    const done: string[] = [];
    const tools = [recordingTool('note', done), recordingTool('burn', done)];
    const calls = ['note', 'burn'].map((name) => [name, { text: 'it' }] as const);
    const capabilities = [callFake, { ...callAllTools, resource: 'tool:lc.note' }];
    const options = { record: 'full' as const };
    const setup = { model: conversationModel([{ calls }, 'done']), tools, options };
    const { kernel, pid } = await startLangChain(setup, { capabilities });
    const early = new PartReader(kernel, pid);
    await early.done;
    const late = new PartReader(kernel, pid);
    await late.done;
    expect(early.told).toEqual(late.told);
    expect(late.told).toEqual([
      '1 turn-start',
      '1 tool-call call-0-0',
      '1 tool-call call-0-1',
      '1 turn-end',
      '1 tool-result call-0-0',
      '1 tool-result call-0-1',
      '2 turn-start',
      '2 text done',
      '2 turn-end',
      '2 end completed',
    ]);
    const results = late.parts.filter(({ type }) => type === 'tool-result');
    expect(results).toMatchObject([
      { tool: 'note', result: 'did it' },
      { tool: 'burn', isError: true },
    ]);
    expect(results[0]).not.toHaveProperty('isError');
    const [first] = (await kernel.audit.list({ action: 'turn.commit' })).items;
    const { payload } = await kernel.audit.get(first?.seq ?? 0);
    expect(JSON.stringify(payload)).toContain('Begin.');
  });

  it('is bound by the constraints of its capabilities', async () => {
    const done: string[] = [];
    const model = conversationModel([
      { calls: [['search', { text: 'tides' }]] },
      { calls: [['search', { text: 'passwords' }]] },
      'done',
    ]);
    const constrained = {
      resource: 'tool:lc.search',
      rights: ['call'],
      constraints: { text: { eq: 'tides' } },
    } as const;
    const { kernel, pid } = await startLangChain(
      { model, tools: [recordingTool('search', done)] },
      { capabilities: [callFake, constrained] },
    );
    const { value } = await kernel.processes.result(pid);
    expect(JSON.parse((value as string[])[4] ?? '')).toMatchObject({ error: { code: 'CAPABILITY_DENIED' } });
    expect(done).toEqual(['search tides']);
  });

  it('reads that its budget of calls is used up', async () => {
    const done: string[] = [];
    const model = conversationModel(searchTwice);
    const { kernel, pid } = await startLangChain(
      { model, tools: [recordingTool('search', done)] },
      { budget: { toolCalls: 1 } },
    );
    const { value } = await kernel.processes.result(pid);
    expect(JSON.parse((value as string[])[4] ?? '')).toMatchObject({ error: { code: 'BUDGET_EXCEEDED' } });
    expect(done).toEqual(['search one']);
  });

  it('ends when its budget of tokens is used up, and its model is not asked again', async () => {
    const done: string[] = [];
    const model = conversationModel(
      [...Array(9).keys()].map(() => ({ calls: [['search', { text: 'more' }]] as const })),
      [400, 200],
    );
    const { kernel, pid } = await startLangChain(
      { model, tools: [recordingTool('search', done)] },
      { budget: { tokens: 1_000 } },
    );
    expect(await kernel.processes.result(pid)).toMatchObject({
      status: 'failed',
      outcome: { reason: 'BUDGET_EXCEEDED' },
    });
    expect(model.callCount).toBe(2);
    expect((await kernel.processes.budget(pid)).tokens).toMatchObject({ used: 1_200, reserved: 0, overrun: 200 });
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('does not begin a turn for which nothing is left, and ends as its process asks for', async () => {
    const model = conversationModel(['never']);
    const budget = { tokens: 3 };
    const failed = await startLangChain({ model }, { budget });
    expect(await failed.kernel.processes.result(failed.pid)).toMatchObject({ outcome: { reason: 'BUDGET_EXCEEDED' } });
    const cancelled = await startLangChain({ model }, { budget, onBudget: 'cancel' });
    expect(await cancelled.kernel.processes.result(cancelled.pid)).toMatchObject({
      outcome: { kind: 'budget_exhausted' },
    });
    expect(model.callCount).toBe(0);
    expect((await failed.kernel.processes.budget(failed.pid)).tokens).toMatchObject({ used: 0, reserved: 0 });
  });

  it('pays in money by the price of its turns', async () => {
    const model = conversationModel(['done'], [100, 7]);
    const cost = ({ inputTokens, outputTokens }: { inputTokens: number; outputTokens: number }) =>
      inputTokens + outputTokens * 10;
    const { kernel, pid } = await startLangChain({ model, options: { cost } });
    await kernel.processes.result(pid);
    expect((await kernel.processes.get(pid)).used).toMatchObject({ tokens: 107, costMicros: 170 });
  });

  it('may not ask a model without authority', async () => {
    const model = conversationModel(['never']);
    const { kernel, pid } = await startLangChain({ model }, { capabilities: [callAllTools] });
    expect(await kernel.processes.result(pid)).toMatchObject({
      outcome: { reason: 'CAPABILITY_DENIED', evidence: { facts: { resource: 'model:langchain/fake-model-builder' } } },
    });
    expect(model.callCount).toBe(0);
  });

  it('waits for the answer of a person, and goes on with it', async () => {
    const done: string[] = [];
    const model = conversationModel(searchTwice);
    const { kernel, pid } = await startLangChain(
      { model, tools: [recordingTool('search', done)] },
      { ask: [{ resource: 'tool:lc.search', rights: ['call'] }] },
    );
    await answer('one', 'once');
    await answer('two', 'deny');
    const { value } = await kernel.processes.result(pid);
    expect(JSON.parse((value as string[])[4] ?? '')).toMatchObject({ error: { code: 'APPROVAL_DENIED' } });
    expect(done).toEqual(['search one']);

    /** Answers the question about the call with this text, which has not run before. */
    async function answer(text: string, decision: 'once' | 'deny') {
      const asked = await eventually(async () => {
        const pending = await kernel.approvals.list({ status: 'pending' });
        const found = pending.find((approval) => JSON.stringify(approval).includes(`"text":"${text}"`));
        expect(found).toBeDefined();
        return found;
      });
      expect(done).not.toContain(`search ${text}`);
      await kernel.approvals.answer(asked?.id ?? '', { decision, by: 'ada' });
    }
  });

  it('is cancelled in the middle of a tool, which is told', async () => {
    let told: unknown;
    const done: string[] = [];
    const model = conversationModel(searchOnce);
    const slow = recordingTool('search', done, () => new Promise(() => undefined));
    const invoke = slow.invoke.bind(slow);
    slow.invoke = ((input: never, config: { signal: AbortSignal }) => {
      config.signal.addEventListener('abort', () => {
        told = config.signal.reason;
      });
      return invoke(input, config);
    }) as never;
    const { kernel, pid } = await startLangChain({ model, tools: [slow] });
    await eventually(() => expect(done).toEqual(['search tides']));
    await kernel.processes.cancel(pid, 'enough');
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'killed', outcome: { kind: 'cancelled' } });
    expect(told).toBeDefined();
    expect(model.callCount).toBe(1);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('is cancelled in the middle of a turn', async () => {
    const model = conversationModel([]);
    const generate = { began: false, aborted: false };
    model._generate = (_messages, options) => {
      generate.began = true;
      return new Promise((_, reject) => {
        options?.signal?.addEventListener('abort', () => {
          generate.aborted = true;
          reject(new Error('given up'));
        });
      });
    };
    // The model that the tools are bound to is another one.
    model.bindTools = () => model.withConfig({}) as never;
    const { kernel, pid } = await startLangChain({ model });
    await eventually(() => expect(generate.began).toBe(true));
    await kernel.processes.cancel(pid);
    expect(await kernel.processes.result(pid)).toMatchObject({ outcome: { kind: 'cancelled' } });
    expect(generate.aborted).toBe(true);
  });

  it('asks again after a temporary failure of its provider, and pays for what was answered', async () => {
    const model = conversationModel(['done']);
    const first = Object.assign(new Error('come again'), { status: 429 });
    const generate = model._generate.bind(model);
    let attempts = 0;
    model._generate = async (messages, options, manager) => {
      attempts++;
      if (attempts === 1) throw first;
      return generate(messages, options, manager);
    };
    model.bindTools = () => model.withConfig({}) as never;
    const { kernel, pid } = await startLangChain({ model, options: { retry: { attempts: 2, baseMs: 0 } } });
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited' });
    expect(attempts).toBe(2);
    expect((await kernel.processes.get(pid)).used).toMatchObject({ tokens: 15 });
  });

  it('fails when its model fails, without the request and its secrets', async () => {
    const model = conversationModel([]);
    model.alwaysThrow(Object.assign(new Error('no such key sk-abcdefghijklmnop'), { status: 401 }));
    const { kernel, pid } = await startLangChain({ model });
    const { outcome } = await kernel.processes.result(pid);
    expect(outcome).toMatchObject({ reason: 'MODEL_FAILED', evidence: { facts: { statusCode: 401 } } });
    expect(JSON.stringify(outcome)).not.toContain('sk-abc');
    expect((await kernel.processes.budget(pid)).tokens).toMatchObject({ used: 0, reserved: 0 });
  });

  it('is charged an estimate where its model reports no usage', async () => {
    const model = conversationModel(['done'], undefined);
    const { kernel, pid } = await startLangChain({ model });
    await kernel.processes.result(pid);
    expect((await kernel.processes.get(pid)).used.tokens).toBeGreaterThan(0);
  });

  it('has the tools of the kernel beside its own', async () => {
    const add = defineTool({
      name: 'math.add',
      description: 'Adds two numbers.',
      effect: 'pure',
      input: z.strictObject({ a: z.number(), b: z.number() }),
      run: ({ a, b }) => a + b,
    });
    const model = conversationModel([
      {
        calls: [
          ['math_add', { a: 1, b: 2 }],
          ['search', { text: 'tides' }],
        ],
      },
      'done',
    ]);
    const done: string[] = [];
    const setup = { model, tools: [recordingTool('search', done)], kernelTools: ['math.add'] };
    const { kernel, pid } = await startLangChain(setup, {}, { tools: [add] });
    expect((await kernel.processes.result(pid)).value).toEqual(['Begin.', '', '3', 'did tides', 'done']);
    expect((await kernel.processes.get(pid)).used.toolCalls).toBe(2);
  });

  it('is refused a tool that nobody has registered, and one that is not there', async () => {
    const done: string[] = [];
    const model = conversationModel([
      {
        calls: [
          ['secret', { text: 'run' }],
          ['missing', {}],
        ],
      },
      'done',
    ]);
    const secret = recordingTool('secret', done);
    const { kernel, pid } = await startLangChain({ model, tools: [secret], ungoverned: true });
    const { value } = await kernel.processes.result(pid);
    const codes = (value as string[]).slice(2, 4).map((text) => JSON.parse(text).error.code);
    expect(codes).toEqual(['NO_SUCH_TOOL', 'NO_SUCH_TOOL']);
    expect(done).toEqual([]);
  });

  it('gives its model the answers that it gave: tool calls, ids and usage', async () => {
    const model = conversationModel(searchOnce);
    const { kernel, pid } = await startLangChain({ model, tools: [recordingTool('search', [])] });
    await kernel.processes.result(pid);
    const [, answer] = model.calls[1]?.messages ?? [];
    expect(AIMessage.isInstance(answer)).toBe(true);
    expect(answer).toMatchObject({
      tool_calls: [{ name: 'search', args: { text: 'tides' }, id: 'call-0-0' }],
      usage_metadata: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
    });
  });
});
