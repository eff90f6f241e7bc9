import { generateText, stepCountIs, streamText, tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createKernel, defineTool } from '../../src/index.js';
import { agentImage, modelResource } from '../../src/integrations/ai-sdk/index.js';
import { createTestKernel, scriptedModel } from '../../src/testing/index.js';
import { eventually } from '../support/eventually.js';
import { newStore, refusal } from '../support/kernel.js';

const may = (...resources: string[]) => resources.map((resource) => ({ resource, rights: ['call'] as const }));
const add = defineTool({
  name: 'math.add',
  description: 'Adds two numbers.',
  effect: 'pure',
  input: z.strictObject({ a: z.number(), b: z.number() }),
  run: ({ a, b }: { a: number; b: number }) => a + b,
});
const adding = { toolCalls: [{ name: 'math.add', args: { a: 2, b: 3 } }] };

describe('a scripted model', () => {
  it('answers the calls of the AI SDK in order, and records its prompts', async () => {
    const model = scriptedModel(['One.', { text: 'Two.', usage: { outputTokens: 7 } }]);
    expect((await generateText({ model, prompt: 'first' })).text).toBe('One.');
    const second = await generateText({ model, prompt: 'second' });
    expect([second.text, second.finishReason]).toEqual(['Two.', 'stop']);
    expect(second.usage).toMatchObject({ inputTokens: 10, outputTokens: 7 });
    expect(model.prompts.map(([message]) => message?.content)).toEqual([
      [expect.objectContaining({ text: 'first' })],
      [expect.objectContaining({ text: 'second' })],
    ]);
  });

  it('streams the same answers', async () => {
    const model = scriptedModel([{ toolCalls: [{ name: 'roll' }] }, 'You have rolled a 4.']);
    const roll = tool({ description: 'Rolls a die.', inputSchema: z.object({}), execute: () => 4 });
    const { textStream, toolResults, steps } = streamText({
      model,
      prompt: 'Roll.',
      tools: { roll },
      stopWhen: stepCountIs(2),
    });
    const deltas: string[] = [];
    for await (const delta of textStream) deltas.push(delta);
    expect(deltas.join('')).toBe('You have rolled a 4.');
    expect(deltas.length).toBeGreaterThan(1);
    expect(await toolResults).toEqual([]);
    expect((await steps)[0]?.toolResults).toMatchObject([{ toolName: 'roll', output: 4 }]);
  });

  it('gives a turn for the prompt, and throws errors', async () => {
    const model = scriptedModel([
      (prompt) => `It has ${prompt.length} message.`,
      { error: new RangeError('too much') },
      { error: 'no reason' },
    ]);
    expect((await generateText({ model, prompt: 'x' })).text).toBe('It has 1 message.');
    await expect(generateText({ model, prompt: 'x', maxRetries: 0 })).rejects.toThrow(RangeError);
    await expect(generateText({ model, prompt: 'x', maxRetries: 0 })).rejects.toThrow('no reason');
  });

  it('says that its script is over', async () => {
    const model = scriptedModel(['all'], { provider: 'mock.chat', modelId: 'short' });
    await model.doGenerate({ prompt: [] });
    expect(await refusal(model.doGenerate({ prompt: [] }))).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { model: 'mock.chat/short', turns: 1, asked: 2 },
    });
    expect(await refusal(model.doStream({ prompt: [] }))).toMatchObject({ facts: { asked: 3 } });
  });

  it('is of the version that is wanted', async () => {
    const { stream } = await scriptedModel(['new'], { specificationVersion: 'v4' }).doStream({ prompt: [] });
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);
    expect(types).toEqual(['stream-start', 'text-start', 'text-delta', 'text-end', 'finish']);
    expect(scriptedModel([]).specificationVersion).toBe('v3');
    expect(scriptedModel([], { specificationVersion: 'v4' }).specificationVersion).toBe('v4');
  });
});

describe('an agent with a scripted model', () => {
  it('calls tools by their names in the kernel, within its budget', async () => {
    const model = scriptedModel([adding, 'It is 5.'], { usage: { inputTokens: 90, outputTokens: 10 } });
    await using kernel = await createTestKernel({ tools: [add], images: [agentImage({ name: 'agent', model })] });
    const capabilities = may(modelResource(model), 'tool:math.add');
    const pid = await kernel.processes.spawn({ image: 'agent', goal: 'Add.', capabilities, budget: { tokens: 1_000 } });
    expect(await kernel.processes.result(pid)).toMatchObject({ value: { text: 'It is 5.', turns: 2 } });
    expect((await kernel.processes.budget(pid)).tokens.used).toBe(200);
    expect(model.calls[0]?.tools).toContainEqual(expect.objectContaining({ name: 'math_add' }));
    expect(JSON.stringify(model.prompts[1])).toContain('"value":5');
  });

  it('fails with what the script lacks', async () => {
    const model = scriptedModel([adding]);
    await using kernel = await createTestKernel({ tools: [add], images: [agentImage({ name: 'agent', model })] });
    const capabilities = may('model:**', 'tool:**');
    const pid = await kernel.processes.spawn({ image: 'agent', capabilities });
    expect(await kernel.processes.result(pid)).toMatchObject({
      status: 'failed',
      outcome: { reason: 'INVALID_INPUT', evidence: { facts: { turns: 1, asked: 2 } } },
    });
  });

  it('goes on after a restart with a new model of the same script', async () => {
    const busy = { error: Object.assign(new Error('busy'), { isRetryable: true }) };
    const store = await newStore();
    const open = async () => {
      const model = scriptedModel([busy, adding, 'It is 5.']);
      const image = agentImage({ name: 'agent', model, retry: { attempts: 2, baseMs: 0 } });
      return { model, kernel: await createKernel({ store, logger: 'silent', tools: [add], images: [image] }) };
    };
    const first = await open();
    await first.kernel.capabilities.ask('*', { resource: 'tool:math.add', rights: ['call'] });
    const capabilities = may('model:**', 'tool:**');
    const pid = await first.kernel.processes.spawn({ image: 'agent', capabilities });
    const approval = await eventually(async () => {
      const [held] = await first.kernel.approvals.list();
      if (held === undefined) throw new Error('the call of the tool is not held yet');
      return held;
    });
    await first.kernel.shutdown();
    expect(first.model.calls).toHaveLength(2);

    const second = await open();
    await second.kernel.approvals.answer(approval.id, { decision: 'once', by: 'ann' });
    expect(await second.kernel.processes.result(pid)).toMatchObject({ value: { text: 'It is 5.', turns: 2 } });
    expect(second.model.calls).toHaveLength(1);
    await second.kernel.shutdown();
  });
});
