import { generateText, stepCountIs, type ToolSet } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type CapabilitySpec, defineImage, defineTool, type JsonValue, type Tool } from '../../../src/index.js';
import { toolsFor } from '../../../src/integrations/ai-sdk/index.js';
import { eventually } from '../../support/eventually.js';
import { scriptedModel, toolResultsIn } from '../../support/integrations/scripted-model.js';
import { openKernel, refusal } from '../../support/kernel.js';

const add = defineTool({
  name: 'math.add',
  description: 'Adds two numbers.',
  effect: 'pure',
  input: z.strictObject({ a: z.number(), b: z.number() }),
  run: ({ a, b }: { a: number; b: number }) => a + b,
});
const mail = defineTool({ name: 'mail', description: 'Sends.', effect: 'once', input: {}, run: () => 'sent' });
const callAdd: CapabilitySpec = { resource: 'tool:math.add', rights: ['call'] };

describe('the tools of a process for the AI SDK', () => {
  it('tell name, description and schema, and are called through the kernel', async () => {
    const { kernel, pid, tools } = await given([callAdd]);
    expect(Object.keys(tools).sort()).toEqual(['mail', 'math_add']);
    const model = scriptedModel((asked, turn) => {
      if (turn === 1) return { calls: [['math_add', { a: 1, b: 2 }]] };
      return JSON.stringify(toolResultsIn(asked));
    });
    const { text } = await generateText({ model, prompt: 'add', tools, stopWhen: stepCountIs(3) });
    expect(text).toBe('[3]');
    expect(model.doGenerateCalls[0]?.tools).toMatchObject([
      { name: 'math_add', description: 'Adds two numbers.', inputSchema: { required: ['a', 'b'] } },
      { name: 'mail', description: 'Sends.', inputSchema: { type: 'object', properties: {} } },
    ]);
    const records = (await kernel.audit.list({ action: 'tool.call' })).items;
    expect(records.map(({ outcome, actor }) => [outcome, actor])).toEqual([
      ['intent', pid],
      ['ok', pid],
    ]);
  });

  it('are refused with a value that says what is missing, and with one that says what is wrong', async () => {
    const { kernel, pid, tools } = await given([callAdd]);
    expect(await execute(tools, 'mail', {})).toEqual({
      error: {
        code: 'CAPABILITY_DENIED',
        message: `Process ${pid} may not call tool:mail.`,
        missing: { right: 'call', resource: 'tool:mail' },
        hint: expect.stringContaining('tool:mail'),
      },
    });
    expect(await execute(tools, 'math_add', { a: 'one', b: 2 })).toEqual({
      error: {
        code: 'INVALID_INPUT',
        message: expect.stringContaining('args.a'),
        hint: 'See the input schema of tool math.add.',
      },
    });
    expect((await kernel.processes.budget(pid)).toolCalls.used).toBe(0);
  });

  it('throw what ends the process, instead of telling a model', async () => {
    const { kernel, pid, tools } = await given([callAdd]);
    await kernel.processes.kill(pid);
    expect(await refusal(execute(tools, 'math_add', { a: 1, b: 2 }))).toMatchObject({ code: 'PROCESS_TERMINATED' });
  });

  it('tell of another process that has ended as a value', async () => {
    const nudge = defineTool({
      name: 'nudge',
      description: 'Writes to somebody.',
      effect: 'once',
      input: z.strictObject({ pid: z.string() }),
      run: async ({ pid }: { pid: string }, { process }) => void (await process.send(pid, 'well?')),
    });
    const kernel = await openKernel({ tools: [nudge] });
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:nudge', rights: ['call'] }] });
    const child = await kernel.processes.spawnChild(pid);
    await kernel.processes.kill(child);
    const value = await execute(await toolsFor(kernel.as(pid)), 'nudge', { pid: child });
    expect(value).toMatchObject({ error: { code: 'PROCESS_TERMINATED' } });
  });

  it('are given up with the call of the model', async () => {
    let began = false;
    const slow = defineTool({
      name: 'slow',
      description: 'Never ends.',
      effect: 'once',
      input: {},
      run: () => {
        began = true;
        return new Promise<never>(() => undefined);
      },
    });
    const kernel = await openKernel({ tools: [slow] });
    const pid = await kernel.processes.spawn({ capabilities: [{ resource: 'tool:slow', rights: ['call'] }] });
    const controller = new AbortController();
    const calling = refusal(execute(await toolsFor(kernel.as(pid)), 'slow', {}, controller.signal));
    await eventually(() => expect(began).toBe(true));
    controller.abort();
    expect(await calling).toMatchObject({ code: 'CANCELLED' });
  });

  it('can be only some, and a name that is none of them is refused', async () => {
    const { kernel, pid } = await given([callAdd]);
    const face = kernel.as(pid);
    expect(Object.keys(await toolsFor(face, { only: ['math.add'] }))).toEqual(['math_add']);
    expect(await refusal(toolsFor(face, { only: ['math.add', 'math_add'] }))).toMatchObject({
      code: 'INVALID_INPUT',
      facts: { unseen: ['math_add'] },
    });
    for (const wrong of [{ only: 'mail' }, { granted: 1 }, { more: true }]) {
      expect(await refusal(toolsFor(face, wrong as never))).toMatchObject({ code: 'INVALID_INPUT' });
    }
  });

  it('can be those that the process may call, with whatever arguments', async () => {
    const other = (name: string): Tool => ({ ...mail, name });
    const names = ['held', 'constrained', 'denied', 'revoked', 'asked'];
    const kernel = await openKernel({ tools: [...names, 'lacking'].map(other) });
    const specs = names.map((name): CapabilitySpec => ({ resource: `tool:${name}`, rights: ['call'] }));
    const pid = await kernel.processes.spawn({
      capabilities: specs.map((spec) =>
        spec.resource === 'tool:constrained' ? { ...spec, constraints: { a: { eq: 1 } } } : spec,
      ),
    });
    await kernel.capabilities.deny(pid, { resource: 'tool:denied', rights: ['call'] });
    await kernel.capabilities.ask(pid, { resource: 'tool:asked', rights: ['call'] });
    const revoked = (await kernel.capabilities.list(pid)).find(({ resource }) => resource === 'tool:revoked');
    await kernel.capabilities.revoke(revoked?.id ?? '');
    const tools = await toolsFor(kernel.as(pid), { granted: true });
    expect(Object.keys(tools).sort()).toEqual(['asked', 'constrained', 'held']);
    expect(Object.keys(await toolsFor(kernel.as(pid)))).toEqual(expect.arrayContaining([...names, 'lacking']));
  });

  it('serve a body that calls a model itself', async () => {
    const model = scriptedModel((asked, turn) =>
      turn === 1 ? { calls: [['math_add', { a: 20, b: 1 }]] } : `it is ${toolResultsIn(asked)[0]}`,
    );
    const image = defineImage({
      name: 'own-loop',
      run: async (ctx) => {
        const tools = await toolsFor(ctx);
        const { text } = await generateText({ model, prompt: 'add', tools, stopWhen: stepCountIs(3) });
        return text;
      },
    });
    const kernel = await openKernel({ tools: [add], images: [image] });
    const pid = await kernel.processes.spawn({ image: 'own-loop', capabilities: [callAdd] });
    expect((await kernel.processes.result(pid)).value).toBe('it is 21');
    expect((await kernel.processes.journal(pid)).map(({ key, status }) => [key, status])).toEqual([
      ['tool math.add #1', 'done'],
    ]);
  });
});

async function given(capabilities: CapabilitySpec[]) {
  const kernel = await openKernel({ tools: [add, mail] });
  const pid = await kernel.processes.spawn({ capabilities });
  return { kernel, pid, tools: await toolsFor(kernel.as(pid), { only: ['math.add', 'mail'] }) };
}

async function execute(tools: ToolSet, name: string, args: JsonValue, abortSignal?: AbortSignal): Promise<unknown> {
  const options = {
    toolCallId: 'call',
    messages: [],
    context: {},
    ...(abortSignal === undefined ? {} : { abortSignal }),
  };
  return tools[name]?.execute?.(args, options);
}
