import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type CapabilitySpec, defineTool } from '../../../src/index.js';
import { type CallableTool, callableTools } from '../../../src/integrations/tools/index.js';
import { eventually } from '../../support/eventually.js';
import { add, simpleTool } from '../../support/integrations/agent-fixture.js';
import { openKernel, refusal } from '../../support/kernel.js';

const callAdd: CapabilitySpec = { resource: 'tool:math.add', rights: ['call'] };
const read = defineTool({
  name: 'notes.read',
  description: 'Reads a note.',
  effect: 'pure',
  input: z.strictObject({ topic: z.string() }),
  run: ({ topic }) => `about ${topic}`,
});

describe('the tools of a process for a loop that is written by hand', () => {
  it('have a name that providers accept, a description and a schema, and give the value of a call', async () => {
    const kernel = await openKernel({ tools: [add, read] });
    const pid = await kernel.processes.spawn({ capabilities: [callAdd] });
    const [tool, ...others] = await callableTools(kernel.as(pid), { only: ['math.add'] });
    expect(others).toEqual([]);
    expect(tool).toMatchObject({
      name: 'math_add',
      description: 'Adds two numbers.',
      schema: { type: 'object', required: ['a', 'b'] },
    });
    expect(await tool?.call({ a: 1, b: 2 })).toEqual({ value: 3 });
    expect((await kernel.processes.get(pid)).used.toolCalls).toBe(1);
  });

  it('give a refusal as a value with its reason, and nothing has happened', async () => {
    const done: unknown[] = [];
    const publish = simpleTool('publish', (args) => done.push(args));
    const kernel = await openKernel({ tools: [publish] });
    const pid = await kernel.processes.spawn();
    const [tool] = await callableTools(kernel.as(pid), { only: ['publish'] });
    expect(await tool?.call({})).toMatchObject({
      isError: true,
      value: { error: { code: 'CAPABILITY_DENIED', missing: { right: 'call', resource: 'tool:publish' } } },
    });
    expect(done).toEqual([]);
  });

  it('are bound by constraints, by a budget, and by the schema', async () => {
    const kernel = await openKernel({ tools: [read] });
    const capabilities: CapabilitySpec[] = [
      { resource: 'tool:notes.read', rights: ['call'], constraints: { topic: { eq: 'tides' } } },
    ];
    const pid = await kernel.processes.spawn({ capabilities, budget: { toolCalls: 1 } });
    const [tool] = await callableTools(kernel.as(pid), { only: ['notes.read'] });
    expect(await codeOf(tool, { topic: 'winds' })).toBe('CAPABILITY_DENIED');
    expect(await codeOf(tool, { topic: 5 })).toBe('INVALID_INPUT');
    expect(await tool?.call({ topic: 'tides' })).toEqual({ value: 'about tides' });
    expect(await codeOf(tool, { topic: 'tides' })).toBe('BUDGET_EXCEEDED');
  });

  it('wait for the answer of a person', async () => {
    const kernel = await openKernel({ tools: [read] });
    const pid = await kernel.processes.spawn({
      capabilities: [{ resource: 'tool:notes.read', rights: ['call'] }],
      ask: [{ resource: 'tool:notes.read', rights: ['call'] }],
    });
    const [tool] = await callableTools(kernel.as(pid), { only: ['notes.read'] });
    for (const [decision, expected] of [
      ['once', { value: 'about tides' }],
      ['deny', { isError: true, value: { error: { code: 'APPROVAL_DENIED' } } }],
    ] as const) {
      const calling = tool?.call({ topic: 'tides' });
      const asked = await eventually(async () => {
        const [approval] = await kernel.approvals.list({ status: 'pending' });
        expect(approval).toBeDefined();
        return approval;
      });
      await kernel.approvals.answer(asked?.id ?? '', { decision, by: 'ada' });
      expect(await calling).toMatchObject(expected);
    }
  });

  it('throw when the process is cancelled in the middle, and when the caller gives the call up', async () => {
    let running = 0;
    const slow = simpleTool('slow', () => {
      running++;
      return new Promise(() => undefined);
    });
    const kernel = await openKernel({ tools: [slow] });
    const capabilities: CapabilitySpec[] = [{ resource: 'tool:slow', rights: ['call'] }];
    const pid = await kernel.processes.spawn({ capabilities });
    const [tool] = await callableTools(kernel.as(pid), { only: ['slow'] });
    const controller = new AbortController();
    const givenUp = refusal(tool?.call({}, { signal: controller.signal }) ?? Promise.resolve());
    await eventually(() => expect(running).toBe(1));
    controller.abort();
    expect(await givenUp).toMatchObject({ code: 'CANCELLED' });
    const cancelled = refusal(tool?.call({}) ?? Promise.resolve());
    await eventually(() => expect(running).toBe(2));
    await kernel.processes.cancel(pid);
    expect(await cancelled).toMatchObject({ code: 'PROCESS_TERMINATED', facts: { pid } });
  });

  it('are those that are chosen, and an unknown name or option is refused', async () => {
    const kernel = await openKernel({ tools: [add, read] });
    const pid = await kernel.processes.spawn({ capabilities: [callAdd] });
    const granted = await callableTools(kernel.as(pid), { granted: true });
    expect(granted.map(({ name }) => name)).toEqual(['math_add']);
    expect(await refusal(callableTools(kernel.as(pid), { only: ['nothing'] }))).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { unseen: ['nothing'] },
    });
    expect(await refusal(callableTools(kernel.as(pid), { just: [] } as never))).toMatchObject({
      code: 'INVALID_INPUT',
    });
  });
});

async function codeOf(tool: CallableTool | undefined, args: Record<string, string | number>): Promise<unknown> {
  const called = await tool?.call(args);
  return called?.isError === true ? called.value.error.code : called?.value;
}
