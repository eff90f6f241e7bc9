import { Agent, handoff, tool } from '@openai/agents-core';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type CapabilitySpec, defineTool, type Kernel, type Pid, type SpawnSpec } from '../../../src/index.js';
import { type AgentImageSpec, agentImage, governTools } from '../../../src/integrations/openai-agents/index.js';
import { PartReader } from '../../support/agent-parts.js';
import { eventually } from '../../support/eventually.js';
import { resultsIn, scriptedAgentsModel } from '../../support/integrations/scripted-agents-model.js';
import { openKernel, refusal } from '../../support/kernel.js';

const all: CapabilitySpec[] = [
  { resource: 'model:openai-agents/**', rights: ['call'], delegable: true },
  { resource: 'tool:**', rights: ['call'], delegable: true },
];
const notes: string[] = [];
const note = tool({
  name: 'note',
  description: 'Writes a line.',
  parameters: z.object({ line: z.string() }),
  execute: async ({ line }) => notes.push(line) && 'noted',
});

async function startAgent(spec: AgentImageSpec, spawnSpec: SpawnSpec = {}): Promise<{ kernel: Kernel; pid: Pid }> {
  notes.length = 0;
  const kernel = await openKernel({ images: [agentImage({ name: 'team', ...spec })] });
  governTools(kernel, [note], { prefix: 'own' });
  const pid = await kernel.processes.spawn({ image: 'team', goal: 'Begin.', capabilities: all, ...spawnSpec });
  return { kernel, pid };
}

async function childrenOf(kernel: Kernel, pid: Pid): Promise<string[]> {
  const { items } = await kernel.processes.list({ root: pid });
  return items.filter((process) => process.pid !== pid).map(({ name, outcome }) => `${name} ${outcome?.kind}`);
}

describe('an image with an agent of the OpenAI Agents SDK', () => {
  it('runs the agent with its goal, durable turns and governed tools', async () => {
    const model = scriptedAgentsModel([{ calls: [['note', { line: 'one' }]] }, 'all noted']);
    const { kernel, pid } = await startAgent({ agent: new Agent({ name: 'lead', model, tools: [note] }) });
    expect(await kernel.processes.value(pid)).toEqual({
      text: 'all noted',
      output: 'all noted',
      agent: 'lead',
      turns: 2,
      usage: { inputTokens: 20, cachedInputTokens: 0, outputTokens: 10, totalTokens: 30 },
    });
    expect(notes).toEqual(['one']);
    expect(JSON.stringify(model.firstCall?.request.input)).toContain('Begin.');
    const records = (await kernel.audit.list({ action: 'tool.call' })).items;
    expect(records.map(({ actor, outcome }) => [actor, outcome])).toEqual([
      [pid, 'intent'],
      [pid, 'ok'],
    ]);
  });

  it('tells its turns to those who listen, with results and refusals', async () => {
    const burn = tool({ name: 'burn', description: 'Burns.', parameters: z.object({}), execute: async () => 'burnt' });
    const calls = [['note', { line: 'one' }] as const, ['burn', {}] as const];
    const model = scriptedAgentsModel([{ calls }, 'all noted']);
    const kernel = await openKernel({
      images: [agentImage({ agent: new Agent({ name: 'lead', model, tools: [note, burn] }) })],
    });
    governTools(kernel, [note, burn], { prefix: 'own' });
    const capabilities = [
      { ...all[0], resource: 'model:**' },
      { ...all[1], resource: 'tool:own.note' },
    ] as const;
    const pid = await kernel.processes.spawn({ image: 'lead', capabilities: capabilities as never });
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
      '2 text all noted',
      '2 turn-end',
      '2 end completed',
    ]);
    expect(late.parts.filter(({ type }) => type === 'tool-result')).toMatchObject([
      { tool: 'note', result: 'noted' },
      { tool: 'burn', isError: true },
    ]);
  });

  it('runs agents that are tools as children, with what their parent may hand on', async () => {
    const helper = scriptedAgentsModel([{ calls: [['note', { line: 'of the helper' }]] }, 'tides come twice']);
    const researcher = new Agent({ name: 'researcher', model: helper, tools: [note] });
    const model = scriptedAgentsModel([
      {
        calls: [
          ['research', { input: 'tides' }],
          ['research', { input: 'tides' }],
        ],
      },
      'done',
    ]);
    const asTool = researcher.asTool({ toolName: 'research', toolDescription: 'Finds out.' });
    const { kernel, pid } = await startAgent({ agent: new Agent({ name: 'lead', model, tools: [asTool] }) });
    expect(await kernel.processes.value(pid)).toMatchObject({ text: 'done', agent: 'lead', turns: 2 });
    expect(await childrenOf(kernel, pid)).toEqual(['researcher completed', 'researcher completed']);
    expect(resultsIn(model.lastCall)).toEqual(['"tides come twice"', '"tides come twice"']);
    expect(notes).toHaveLength(2);
    expect(JSON.stringify(helper.firstCall?.request.input)).toContain('tides');
    const actors = (await kernel.audit.list({ action: 'tool.call' })).items.map(({ actor }) => actor);
    expect(actors).not.toContain(pid);
  });

  it('hands off to an agent that runs as a child with the conversation, and ends with its answer', async () => {
    const billing = scriptedAgentsModel(['the bill is paid']);
    const target = new Agent({ name: 'billing', model: billing, handoffDescription: 'Knows bills.' });
    const model = scriptedAgentsModel([{ calls: [['transfer_to_billing', {}]] }]);
    const lead = new Agent({ name: 'triage', model, handoffs: [handoff(target)] });
    const { kernel, pid } = await startAgent({ agent: lead }, { goal: 'Is my bill paid?' });
    expect(await kernel.processes.value(pid)).toMatchObject({ text: 'the bill is paid', agent: 'billing' });
    expect(await childrenOf(kernel, pid)).toEqual(['billing completed']);
    expect(JSON.stringify(billing.firstCall?.request.input)).toContain('Is my bill paid?');
  });

  it('finds agents below agents, as tools and by handoff', async () => {
    const leaf = new Agent({ name: 'leaf', model: scriptedAgentsModel(['from the leaf']) });
    const middle = new Agent({
      name: 'middle',
      model: scriptedAgentsModel([{ calls: [['transfer_to_leaf', {}]] }]),
      handoffs: [leaf],
    });
    const asTool = middle.asTool({
      toolName: 'delve',
      toolDescription: 'Delves.',
      parameters: z.object({ depth: z.number() }),
      customOutputExtractor: ({ finalOutput }) => `extracted: ${String(finalOutput)}`,
    });
    const model = scriptedAgentsModel([{ calls: [['delve', { depth: 2 }]] }, 'done']);
    const { kernel, pid } = await startAgent({ agent: new Agent({ name: 'lead', model, tools: [asTool] }) });
    expect(await kernel.processes.value(pid)).toMatchObject({ text: 'done' });
    expect(resultsIn(model.lastCall)).toEqual(['"extracted: from the leaf"']);
    expect(await childrenOf(kernel, pid)).toEqual(['middle completed', 'leaf completed']);
  });

  it('tells its model of a child that may not do what it needs', async () => {
    const helper = scriptedAgentsModel([{ calls: [['note', { line: 'secret' }]] }, 'I may not note']);
    const researcher = new Agent({ name: 'researcher', model: helper, tools: [note] });
    const model = scriptedAgentsModel([{ calls: [['researcher', { input: 'go' }]] }, 'done']);
    const lead = new Agent({ name: 'lead', model, tools: [researcher.asTool({ toolDescription: 'Helps.' })] });
    const children: NonNullable<AgentImageSpec['children']> = ({ name }) =>
      name === 'researcher' ? { delegate: [{ resource: 'model:openai-agents/**', rights: ['call'] }] } : undefined;
    const { kernel, pid } = await startAgent({ agent: lead, children });
    expect(await kernel.processes.value(pid)).toMatchObject({ text: 'done' });
    expect(notes).toEqual([]);
    expect(resultsIn(helper.lastCall)[0]).toContain('CAPABILITY_DENIED');
    expect(resultsIn(model.lastCall)).toEqual(['"I may not note"']);
  });

  it('gives structured output as a value', async () => {
    const model = scriptedAgentsModel(['{"answer":42}']);
    const agent = new Agent({ name: 'lead', model, outputType: z.object({ answer: z.number() }) });
    const { kernel, pid } = await startAgent({ agent });
    expect(await kernel.processes.value(pid)).toMatchObject({ text: '{"answer":42}', output: { answer: 42 } });
  });

  it('asks a person about a tool of the SDK that needs approval', async () => {
    const pay = tool({
      name: 'pay',
      description: 'Pays.',
      parameters: z.object({ amount: z.number() }),
      needsApproval: true,
      execute: async ({ amount }) => notes.push(`paid ${amount}`) && 'paid',
    });
    const model = scriptedAgentsModel([
      { calls: [['pay', { amount: 1 }]] },
      { calls: [['pay', { amount: 2 }]] },
      'done',
    ]);
    const kernel = await openKernel({
      images: [agentImage({ agent: new Agent({ name: 'payer', model, tools: [pay] }) })],
    });
    governTools(kernel, [pay], { prefix: 'own' });
    notes.length = 0;
    const pid = await kernel.processes.spawn({ image: 'payer', capabilities: all });
    for (const answer of ['approve', 'reject']) {
      await eventually(async () => expect((await kernel.questions.list({ status: 'pending' })).length).toBe(1));
      const [question] = await kernel.questions.list({ status: 'pending' });
      await kernel.questions.answer(question?.id ?? '', { answer, by: 'ann' });
    }
    expect(await kernel.processes.value(pid)).toMatchObject({ text: 'done' });
    expect(notes).toEqual(['paid 1']);
  });

  it('offers tools of the kernel beside its own', async () => {
    const add = defineTool({
      name: 'math.add',
      description: 'Adds.',
      effect: 'pure',
      input: z.strictObject({ a: z.number(), b: z.number() }),
      run: ({ a, b }: { a: number; b: number }) => a + b,
    });
    const model = scriptedAgentsModel([{ calls: [['math_add', { a: 1, b: 2 }]] }, 'three']);
    const image = agentImage({ agent: new Agent({ name: 'adder', model }), tools: { only: ['math.add'] } });
    const kernel = await openKernel({ tools: [add], images: [image] });
    const pid = await kernel.processes.spawn({ image: 'adder', capabilities: all });
    expect(await kernel.processes.value(pid)).toMatchObject({ text: 'three' });
    expect(resultsIn(model.lastCall)).toEqual(['"3"']);
  });

  it('fails with the reason of the kernel when the budget is used up, and is stopped in the middle of a turn', async () => {
    const looping = scriptedAgentsModel([{ calls: [['note', { line: 'again' }]] }]);
    const agent = new Agent({ name: 'lead', model: looping, tools: [note] });
    const { kernel, pid } = await startAgent({ agent }, { budget: { tokens: 3_000 } });
    expect((await kernel.processes.result(pid)).outcome).toMatchObject({ kind: 'failed' });
    const begun: AbortSignal[] = [];
    const hanging = scriptedAgentsModel([]);
    const model = Object.assign(Object.create(hanging) as typeof hanging, {
      getResponse: ({ signal }: { signal: AbortSignal }) => {
        begun.push(signal);
        return new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
    });
    const second = await startAgent({ agent: new Agent({ name: 'lead', model }) });
    await eventually(() => expect(begun).toHaveLength(1));
    await second.kernel.processes.cancel(second.pid);
    expect((await second.kernel.processes.result(second.pid)).outcome).toMatchObject({ kind: 'cancelled' });
    expect(begun[0]?.aborted).toBe(true);
  });

  it('refuses an agent with a tool that the kernel does not govern, before its model is asked', async () => {
    const free = tool({ name: 'free', description: 'Free.', parameters: z.object({}), execute: async () => 'free' });
    const model = scriptedAgentsModel(['hello']);
    const { kernel, pid } = await startAgent({ agent: new Agent({ name: 'lead', model, tools: [free] }) });
    expect((await kernel.processes.result(pid)).outcome).toMatchObject({ kind: 'failed', reason: 'INVALID_INPUT' });
    expect(model.calls).toEqual([]);
    for (const wrong of [{ agent: {} }, { agent: 'lead' }, { agent: new Agent({ name: 'a' }), maxTurns: 0 }, {}]) {
      const made = Promise.resolve().then(() => agentImage(wrong as never));
      expect(await refusal(made)).toMatchObject({ code: 'INVALID_INPUT' });
    }
  });
});
