import { describe, expect, it } from 'vitest';
import { agentImage, toUIMessageStream } from '../../../src/integrations/ai-sdk/index.js';
import { scriptedModel } from '../../../src/testing/index.js';
import { PartReader } from '../../support/agent-parts.js';
import { eventually } from '../../support/eventually.js';
import { gate } from '../../support/gate.js';
import { add, simpleTool } from '../../support/integrations/agent-fixture.js';
import { newStore, openKernel } from '../../support/kernel.js';

const capabilities = ['model:**', 'tool:math.add'].map((resource) => ({ resource, rights: ['call' as const] }));
const script = [{ text: 'Let me see.', toolCalls: [{ name: 'math.add', args: { a: 2, b: 3 } }] }, 'The sum is five.'];

/** A scripted model whose stream stops before the end of its second turn until the gate is open. */
function heldModel(rest: Promise<void>) {
  const model = scriptedModel(script);
  type Stream = Awaited<ReturnType<typeof model.doStream>>['stream'];
  return {
    ...model,
    doStream: async (call: Parameters<typeof model.doStream>[0]) => {
      const { stream } = await model.doStream(call);
      if (model.calls.length < 2) return { stream };
      const held = new TransformStream<{ type: string }>({
        transform: async (part, controller) => {
          if (part.type === 'text-end') await rest;
          controller.enqueue(part);
        },
      });
      return { stream: stream.pipeThrough(held) as Stream };
    },
  };
}

const wholeStream = [
  '1 turn-start',
  '1 text Let me see.',
  '1 tool-call call-1-1',
  '1 turn-end',
  '1 tool-result call-1-1',
  '2 turn-start',
  '2 text The sum is five.',
  '2 turn-end',
  '2 end completed',
];

describe('the stream of an agent', () => {
  it('tells text as it comes; a late reader gets what was said so far, then the rest', async () => {
    const rest = gate();
    const model = heldModel(rest.opened);
    const kernel = await openKernel({ tools: [add], images: [agentImage({ name: 'agent', model })] });
    const pid = await kernel.processes.spawn({ image: 'agent', capabilities });
    const early = new PartReader(kernel, pid);
    await eventually(() => expect(early.textOf(2)).toBe('The sum is five.'));
    expect(early.told).not.toContain('2 turn-end');
    const late = new PartReader(kernel, pid);
    await eventually(() => expect(late.textOf(2)).toBe('The sum is five.'));
    rest.open();
    await Promise.all([early.done, late.done]);
    expect([early.textOf(1), late.textOf(1)]).toEqual(['Let me see.', 'Let me see.']);
    for (const { parts } of [early, late]) {
      const calls = parts.filter((part) => part.type === 'tool-call' && part.args !== undefined);
      expect(calls).toMatchObject([{ tool: 'math.add', args: { a: 2, b: 3 } }]);
      expect(parts.filter(({ type }) => type === 'tool-result')).toMatchObject([{ tool: 'math.add', result: 5 }]);
      expect(parts.filter(({ type }) => type === 'turn-end')).toHaveLength(2);
    }
    const after = new PartReader(kernel, pid);
    await after.done;
    expect(after.told).toEqual(wholeStream);
  });

  it('is complete for a reader who comes after a crash in the middle of a turn', async () => {
    const store = await newStore();
    const first = await openKernel({
      store,
      tools: [add],
      images: [agentImage({ name: 'agent', model: heldModel(new Promise(() => undefined)) })],
    });
    const pid = await first.processes.spawn({ image: 'agent', capabilities });
    const early = new PartReader(first, pid);
    await eventually(() => expect(early.textOf(2)).toBe('The sum is five.'));
    await first.shutdown({ graceMs: 0 });
    const again = await openKernel({
      store,
      tools: [add],
      images: [agentImage({ name: 'agent', model: scriptedModel(script) })],
    });
    const late = new PartReader(again, pid);
    await late.done;
    expect([late.textOf(1), late.textOf(2)]).toEqual(['Let me see.', 'The sum is five.']);
    const after = new PartReader(again, pid);
    await after.done;
    expect(after.told).toEqual(wholeStream);
  });

  it('has all results of a turn with many long ones', async () => {
    const calls = Array.from({ length: 40 }, () => ({ name: 'long' }));
    const model = scriptedModel([{ toolCalls: calls }, 'Done.']);
    // Three bytes a character: the results of one turn are more than one commit takes.
    const long = simpleTool('long', () => '€'.repeat(60_000));
    const kernel = await openKernel({ tools: [long], images: [agentImage({ name: 'agent', model })] });
    const callLong = { resource: 'tool:long', rights: ['call' as const] };
    const granted = [...capabilities, callLong];
    const pid = await kernel.processes.spawn({ image: 'agent', goal: 'Go.', capabilities: granted });
    const { parts, done } = new PartReader(kernel, pid);
    await done;
    expect(await kernel.processes.result(pid)).toMatchObject({ value: { text: 'Done.' } });
    const results = parts.filter(({ type }) => type === 'tool-result');
    expect(new Set(results.map((part) => ('id' in part ? part.id : ''))).size).toBe(40);
    expect(results).toHaveLength(40);
  });

  it('shows a refused call as one', async () => {
    const kernel = await openKernel({
      tools: [add],
      images: [agentImage({ name: 'agent', model: scriptedModel(script) })],
    });
    const pid = await kernel.processes.spawn({ image: 'agent', capabilities: capabilities.slice(0, 1) });
    const reader = new PartReader(kernel, pid);
    await reader.done;
    expect(reader.parts.filter(({ type }) => type === 'tool-result')).toMatchObject([
      { tool: 'math.add', isError: true, result: { error: { code: 'CAPABILITY_DENIED' } } },
    ]);
  });
});

describe('the stream for useChat', () => {
  it('has the parts of a message of the SDK', async () => {
    const { readUIMessageStream } = await import('ai');
    const kernel = await openKernel({
      tools: [add],
      images: [agentImage({ name: 'agent', model: scriptedModel(script) })],
    });
    const pid = await kernel.processes.spawn({ image: 'agent', capabilities });
    let last: { role: string; parts: readonly object[] } | undefined;
    for await (const message of readUIMessageStream({ stream: toUIMessageStream(kernel, pid) })) last = message;
    expect(last?.role).toBe('assistant');
    expect(last?.parts).toMatchObject([
      { type: 'step-start' },
      { type: 'text', text: 'Let me see.', state: 'done' },
      {
        type: 'dynamic-tool',
        toolName: 'math.add',
        toolCallId: 'call-1-1',
        state: 'output-available',
        input: { a: 2, b: 3 },
        output: 5,
      },
      { type: 'step-start' },
      { type: 'text', text: 'The sum is five.', state: 'done' },
    ]);
  });

  it('tells that the process failed, and ends', async () => {
    const model = scriptedModel([{ error: new Error('no luck') }]);
    const kernel = await openKernel({ images: [agentImage({ name: 'agent', model, maxRetries: 0 })] });
    const pid = await kernel.processes.spawn({ image: 'agent', capabilities });
    const chunks: { type: string; errorText?: string }[] = [];
    for await (const chunk of toUIMessageStream(kernel, pid)) chunks.push(chunk);
    expect(chunks.find(({ type }) => type === 'error')?.errorText).toContain('MODEL_FAILED');
    expect(chunks.at(-1)?.type).toBe('finish');
  });
});
