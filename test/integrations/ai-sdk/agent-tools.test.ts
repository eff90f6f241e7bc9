import { describe, expect, it } from 'vitest';
import { agentImage } from '../../../src/integrations/ai-sdk/index.js';
import { scriptedModel } from '../../../src/testing/index.js';
import { add, simpleTool } from '../../support/integrations/agent-fixture.js';
import { openKernel } from '../../support/kernel.js';

const callModel = { resource: 'model:scripted/test', rights: ['call' as const] };
const callAdd = { resource: 'tool:math.add', rights: ['call' as const] };

function namesOf(call: { tools?: readonly { name: string }[] } | undefined): string[] {
  return (call?.tools ?? []).map(({ name }) => name).sort();
}

describe('the tools that an agent is shown', () => {
  it('are those that it may call, and the request for more', async () => {
    const model = scriptedModel(['Done.']);
    const kernel = await openKernel({ tools: [add], images: [agentImage({ name: 'agent', model })] });
    const pid = await kernel.processes.spawn({ image: 'agent', capabilities: [callModel, callAdd] });
    await kernel.processes.result(pid);
    expect(namesOf(model.calls[0])).toEqual(['capability_request', 'math_add']);
  });

  it('cost no tokens for what it may not call', async () => {
    const model = scriptedModel(['Done.', 'Done.']);
    const kernel = await openKernel({
      images: [agentImage({ name: 'agent', model }), agentImage({ name: 'all', model, tools: 'all' })],
    });
    for (const image of ['agent', 'all']) {
      await kernel.processes.result(await kernel.processes.spawn({ image, capabilities: [callModel] }));
    }
    const [granted, all] = model.calls.map(({ tools }) => JSON.stringify(tools).length);
    // Only the request for a capability is left: at four characters a token some 160 tokens, where all tools take thousands.
    expect(granted).toBeLessThan(1_500);
    expect(all).toBeGreaterThan(12_000);
  });

  it('change with its authority from turn to turn; those that a person is asked about are among them', async () => {
    const model = scriptedModel([
      { toolCalls: [{ name: 'math.add', args: { a: 1, b: 1 } }] },
      async () => {
        const held = (await kernel.capabilities.list(pid)).find(({ resource }) => resource === 'tool:math.add');
        await kernel.capabilities.revoke(held?.id ?? '');
        await kernel.capabilities.grant(pid, { resource: 'tool:asked', rights: ['call'] });
        await kernel.capabilities.ask(pid, { resource: 'tool:asked', rights: ['call'] });
        return { toolCalls: [{ name: 'math.add', args: { a: 1, b: 1 } }] };
      },
      'Done.',
    ]);
    const kernel = await openKernel({
      tools: [add, simpleTool('asked', () => 1)],
      images: [agentImage({ name: 'agent', model })],
    });
    const pid = await kernel.processes.spawn({ image: 'agent', capabilities: [callModel, callAdd], held: true });
    await kernel.processes.resume(pid);
    expect(await kernel.processes.result(pid)).toMatchObject({ value: { text: 'Done.' } });
    expect(model.calls.map(namesOf)).toEqual([
      ['capability_request', 'math_add'],
      ['capability_request', 'math_add'],
      ['asked', 'capability_request'],
    ]);
    // The model goes on calling what it was shown before: the kernel refuses it, and says why.
    expect((model.prompts[2] ?? []).at(-1)).toMatchObject({
      content: [{ output: { value: { error: { code: 'CAPABILITY_REVOKED' } } } }],
    });
  });

  it('are a list where the agent says so, whether it may call them or not', async () => {
    const model = scriptedModel(['Done.']);
    const image = agentImage({ name: 'agent', model, tools: ['math.add', 'clock.now'] });
    const kernel = await openKernel({ tools: [add], images: [image] });
    await kernel.processes.result(await kernel.processes.spawn({ image, capabilities: [callModel] }));
    expect(namesOf(model.calls[0])).toEqual(['clock_now', 'math_add']);
  });

  it('have schemas that every provider takes: objects without references', async () => {
    const model = scriptedModel(['Done.']);
    const kernel = await openKernel({ images: [agentImage({ name: 'agent', model, tools: 'all' })] });
    await kernel.processes.result(await kernel.processes.spawn({ image: 'agent', capabilities: [callModel] }));
    const tools = (model.calls[0]?.tools ?? []) as readonly { name: string; inputSchema: { type?: string } }[];
    expect(tools.length).toBeGreaterThan(15);
    for (const { name, inputSchema } of tools) {
      const text = JSON.stringify(inputSchema);
      expect([name, inputSchema.type, /"\$ref"|"propertyNames"|"\$defs"/.test(text)]).toEqual([name, 'object', false]);
    }
  });
});

describe('a turn of an agent', () => {
  it('is prepared by a function, and passes choices and options on', async () => {
    const model = scriptedModel([
      { toolCalls: [{ name: 'math.add', args: { a: 1, b: 1 } }] },
      { toolCalls: [{ name: 'clock.now' }] },
      'Done.',
    ]);
    const image = agentImage({
      name: 'agent',
      model,
      tools: ['math.add', 'clock.now'],
      system: 'You add.',
      toolChoice: 'required',
      providerOptions: { scripted: { effort: 'low' } },
      prepareTurn: ({ turn, usage }) =>
        turn === 1
          ? undefined
          : { system: `Turn ${turn} after ${usage.totalTokens}.`, tools: ['clock.now'], toolChoice: 'auto' },
    });
    const kernel = await openKernel({ tools: [add], images: [image] });
    const callTools = { resource: 'tool:**', rights: ['call' as const] };
    await kernel.processes.result(await kernel.processes.spawn({ image, capabilities: [callModel, callTools] }));
    const calls = model.calls as readonly object[] as readonly { toolChoice?: unknown; providerOptions?: unknown }[];
    expect(calls.map(({ toolChoice }) => toolChoice)).toEqual([
      { type: 'required' },
      { type: 'auto' },
      { type: 'auto' },
    ]);
    expect(calls[0]?.providerOptions).toEqual({ scripted: { effort: 'low' } });
    expect(model.calls.map(namesOf)).toEqual([['clock_now', 'math_add'], ['clock_now'], ['clock_now']]);
    expect(model.prompts.map(([system]) => system?.content)).toEqual([
      'You add.',
      'Turn 2 after 15.',
      'Turn 3 after 30.',
    ]);
  });

  it('is the last one where a condition of the SDK is met', async () => {
    const { hasToolCall } = await import('ai');
    const model = scriptedModel([{ text: 'I add.', toolCalls: [{ name: 'math.add', args: { a: 1, b: 1 } }] }, 'never']);
    const image = agentImage({ name: 'agent', model, stopWhen: hasToolCall('math_add') });
    const kernel = await openKernel({ tools: [add], images: [image] });
    const pid = await kernel.processes.spawn({ image, capabilities: [callModel, callAdd] });
    expect(await kernel.processes.result(pid)).toMatchObject({ value: { text: 'I add.', finishReason: 'stop_when' } });
    expect(model.calls).toHaveLength(1);
  });

  it('is repeated as often as maxRetries says', async () => {
    const busy = { error: Object.assign(new Error('busy'), { isRetryable: true }) };
    const model = scriptedModel([busy, busy, 'Done.']);
    const retry = { attempts: 1, baseMs: 1 };
    const kernel = await openKernel({
      images: [
        agentImage({ name: 'patient', model, retry, maxRetries: 2 }),
        agentImage({ name: 'hasty', model: scriptedModel([busy, 'never']), retry, maxRetries: 0 }),
      ],
    });
    const [patient, hasty] = await Promise.all(
      ['patient', 'hasty'].map((image) => kernel.processes.spawn({ image, capabilities: [callModel] })),
    );
    expect(await kernel.processes.result(patient ?? '')).toMatchObject({ value: { text: 'Done.' } });
    expect(await kernel.processes.result(hasty ?? '')).toMatchObject({ outcome: { reason: 'MODEL_FAILED' } });
  });
});
