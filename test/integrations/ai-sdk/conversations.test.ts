import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type AgentModel, agentImage } from '../../../src/integrations/ai-sdk/index.js';
import { scriptedModel } from '../../../src/testing/index.js';
import { eventually } from '../../support/eventually.js';
import { add, simpleTool } from '../../support/integrations/agent-fixture.js';
import { newStore, openKernel } from '../../support/kernel.js';
import { findInconsistencies } from '../../support/store-consistency.js';

const capabilities = ['model:**', 'tool:**'].map((resource) => ({ resource, rights: ['call' as const] }));

type Prompt = readonly { role: string; content: unknown }[];

function userTexts(prompt: Prompt): string[] {
  const users = prompt.filter(({ role }) => role === 'user');
  return users.map(({ content }) => (content as { text?: string }[]).map(({ text }) => text ?? '').join(''));
}

/** A model that answers any number of messages: it repeats the last one, and tells how many it has seen. */
function echo(onPrompt: (prompt: Prompt) => void = () => undefined): AgentModel {
  const answer = (prompt: Prompt) => {
    onPrompt(prompt);
    const texts = userTexts(prompt);
    return `${texts.length}: ${texts.at(-1)}`;
  };
  return scriptedModel(Array.from({ length: 1_000 }, () => answer));
}

describe('a conversation', () => {
  it('answers its goal, then each message, with its history', async () => {
    const kernel = await openKernel({ images: [agentImage({ name: 'chat', model: echo(), conversation: true })] });
    const pid = await kernel.processes.spawn({ image: 'chat', goal: 'Hello.', capabilities });
    expect(await kernel.agents.say(pid, 'And more?')).toMatchObject({
      text: '2: And more?',
      usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
    });
    expect(await kernel.agents.say(pid, 'And again?')).toMatchObject({ text: '3: And again?' });
    await eventually(async () => expect((await kernel.processes.get(pid)).status).toBe('waiting'));
    await kernel.processes.exit(pid);
    expect((await kernel.processes.result(pid)).status).toBe('exited');
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('without a goal waits for its first message', async () => {
    const kernel = await openKernel({
      images: [agentImage({ name: 'chat', model: echo(), conversation: true, contextTokens: 0 })],
    });
    const pid = await kernel.processes.spawn({ image: 'chat', capabilities });
    expect(await kernel.agents.say(pid, 'Hello?')).toMatchObject({ text: '1: Hello?' });
    await kernel.processes.exit(pid);
  });

  it('ends with its last answer when nobody has said anything for a while', async () => {
    const image = agentImage({ name: 'chat', model: echo(), conversation: { idleMs: 1 } });
    const kernel = await openKernel({ images: [image] });
    const pid = await kernel.processes.spawn({ image, goal: 'Hello.', capabilities });
    expect(await kernel.processes.result(pid)).toMatchObject({ status: 'exited', value: { text: '1: Hello.' } });
    await expect(kernel.agents.say(pid, 'Still there?')).rejects.toMatchObject({ code: 'PROCESS_TERMINATED' });
  });

  it('is refused for an agent that is none', async () => {
    const image = agentImage({ name: 'agent', model: echo() });
    const kernel = await openKernel({ images: [image] });
    const pid = await kernel.processes.spawn({ image, goal: 'Go.', capabilities, held: true });
    await expect(kernel.agents.say(pid, 'Hello?')).rejects.toMatchObject({ code: 'INVALID_TRANSITION' });
  });

  it('answers with objects of its schema', async () => {
    const output = z.object({ city: z.string() });
    const model = scriptedModel(['{"city":"Oslo"}', 'no JSON', '{"city":"Rome"}']);
    const image = agentImage({ name: 'chat', model, output, conversation: true });
    const kernel = await openKernel({ images: [image] });
    const pid = await kernel.processes.spawn({ image, goal: 'Where?', capabilities });
    await eventually(async () => expect((await kernel.processes.get(pid)).status).toBe('waiting'));
    expect(await kernel.agents.say(pid, 'And now?')).toMatchObject({ object: { city: 'Rome' } });
    await kernel.processes.exit(pid, { result: { city: 'Rome' } });
  });

  it('calls tools between its answers, and goes on after a restart', async () => {
    const store = await newStore();
    let calls = 0;
    const count = simpleTool('count', () => ++calls);
    const script = [
      'Hello.',
      { toolCalls: [{ name: 'count' }] },
      'Counted.',
      { toolCalls: [{ name: 'count' }] },
      'Counted twice.',
    ];
    const open = (model: AgentModel) =>
      openKernel({ store, tools: [count], images: [agentImage({ name: 'chat', model, conversation: true })] });
    const first = await open(scriptedModel(script));
    const pid = await first.processes.spawn({ image: 'chat', goal: 'Hi.', capabilities });
    expect(await first.agents.say(pid, 'Count.', { id: 'one' })).toMatchObject({ text: 'Counted.' });
    await first.shutdown({ graceMs: 0 });
    const model = scriptedModel(script);
    const second = await open(model);
    expect(await second.agents.say(pid, 'Count.', { id: 'one' })).toMatchObject({ text: 'Counted.' });
    expect(await second.agents.say(pid, 'Again.', { id: 'two' })).toMatchObject({ text: 'Counted twice.' });
    expect([calls, model.calls.length]).toEqual([2, 2]);
    expect((await second.processes.get(pid)).used).toMatchObject({ tokens: 75, toolCalls: 2 });
    await second.processes.exit(pid);
    expect(await findInconsistencies(second)).toEqual([]);
  });

  it('begins anew between two messages when its journal is long, and knows what was said', async () => {
    const long = 'x'.repeat(250_000);
    const model = echo();
    const image = agentImage({ name: 'chat', model, conversation: true });
    const kernel = await openKernel({ images: [image] });
    const pid = await kernel.processes.spawn({ image, goal: 'Hello.', capabilities });
    for (let n = 2; n <= 9; n++) {
      const reply = await kernel.agents.say(pid, `Message ${n} ${n < 8 ? long : ''}`, { id: `m${n}` });
      expect(reply.text).toContain(`Message ${n} `);
    }
    const { items } = await kernel.events.list({ pid, types: ['process.renewed'] });
    expect(items.length).toBeGreaterThan(0);
    const reply = await kernel.agents.say(pid, 'How often?');
    expect(Number(reply.text.split(':')[0])).toBeGreaterThan(4);
    await kernel.processes.exit(pid);
    expect(await findInconsistencies(kernel)).toEqual([]);
  });
});

describe('an agent that gets another program', () => {
  it('goes on with the conversation that the process had', async () => {
    const clerk = scriptedModel([
      { text: 'I pass you on.', toolCalls: [{ name: 'math.add', args: { a: 1, b: 2 } }] },
      'Please wait.',
    ]);
    const expert = scriptedModel(['I have read it all.'], { modelId: 'expert' });
    const images = [
      agentImage({ name: 'clerk', model: clerk, conversation: true }),
      agentImage({ name: 'expert', model: expert, contextTokens: 0 }),
    ];
    const kernel = await openKernel({ tools: [add], images });
    const pid = await kernel.processes.spawn({ image: 'clerk', goal: 'My lamp is broken.', capabilities });
    await eventually(async () => expect((await kernel.processes.get(pid)).status).toBe('waiting'));
    await kernel.processes.exec(pid, { image: 'expert', goal: 'Help them.', preserveCapabilities: true });
    expect(await kernel.processes.result(pid)).toMatchObject({ value: { text: 'I have read it all.' } });
    const [prompt = []] = expert.prompts;
    const text = JSON.stringify(prompt);
    for (const said of ['My lamp is broken.', 'I pass you on.', 'Please wait.', 'Help them.'])
      expect(text).toContain(said);
    expect(prompt.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant', 'user']);
  });
});
