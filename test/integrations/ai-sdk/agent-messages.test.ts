import { describe, expect, it } from 'vitest';
import { type AgentModel, agentImage } from '../../../src/integrations/ai-sdk/index.js';
import { scriptedModel } from '../../../src/testing/index.js';
import { eventually } from '../../support/eventually.js';
import { callTools, simpleTool } from '../../support/integrations/agent-fixture.js';
import { newStore, openKernel } from '../../support/kernel.js';

const callModel = { resource: 'model:scripted/test', rights: ['call' as const] };

/** The texts of the user's messages in a prompt, in order. */
function userTexts(prompt: readonly { role: string; content: unknown }[] | undefined): string[] {
  const users = (prompt ?? []).filter(({ role }) => role === 'user');
  return users.map(({ content }) => (content as { text?: string }[]).map(({ text }) => text ?? '').join(''));
}

/** The results of tools of the last turn in a prompt. */
function toolResults<T>(prompt: readonly { role: string; content: unknown }[]): T[] {
  const results = prompt.findLast(({ role }) => role === 'tool')?.content ?? [];
  return (results as { output: { value: T } }[]).map(({ output }) => output.value);
}

describe('a message that is sent while a turn is under way', () => {
  it('is in the next prompt, with its sender', async () => {
    const model = scriptedModel([
      async () => {
        await kernel.as(friend).send(pid, { text: 'Use metres.' });
        return { toolCalls: [{ name: 'look' }] };
      },
      'Done.',
    ]);
    const kernel = await openKernel({
      tools: [simpleTool('look', () => 'seen')],
      images: [agentImage({ name: 'agent', model })],
    });
    const pid = await kernel.processes.spawn({
      image: 'agent',
      goal: 'Go.',
      capabilities: [callModel, callTools],
      held: true,
    });
    const friend = await kernel.processes.spawn({ capabilities: [{ resource: `process:${pid}`, rights: ['send'] }] });
    await kernel.processes.resume(pid);
    expect((await kernel.processes.result(pid)).status).toBe('exited');
    expect(userTexts(model.prompts[0])).toEqual(['Go.']);
    expect(userTexts(model.prompts[1])).toEqual(['Go.', `Message of process ${friend}:\n\nUse metres.`]);
    const transcript = (await kernel.processes.transcript(pid))?.payload as { messages: { text: string }[] };
    expect(transcript.messages.map(({ text }) => text)).toContain(`Message of process ${friend}:\n\nUse metres.`);
  });

  it('is in the prompt once, also after a restart', async () => {
    const store = await newStore();
    let isStopped = false;
    const options = (model: AgentModel) => ({
      store,
      tools: [simpleTool('look', () => 'seen')],
      images: [agentImage({ name: 'agent', model })],
    });
    const before = scriptedModel([
      async () => {
        await kernel.as(friend).send(pid, 'Use metres.');
        return { toolCalls: [{ name: 'look' }] };
      },
      () => {
        isStopped = true;
        return new Promise(() => undefined);
      },
    ]);
    const kernel = await openKernel(options(before));
    const pid = await kernel.processes.spawn({
      image: 'agent',
      goal: 'Go.',
      capabilities: [callModel, callTools],
      held: true,
    });
    const friend = await kernel.processes.spawn({ capabilities: [{ resource: `process:${pid}`, rights: ['send'] }] });
    await kernel.processes.resume(pid);
    await eventually(() => expect(isStopped).toBe(true));
    await kernel.shutdown({ graceMs: 0 });
    const after = scriptedModel([() => 'never', 'Done.']);
    const again = await openKernel(options(after));
    expect(await again.processes.result(pid)).toMatchObject({ value: { text: 'Done.', turns: 2 } });
    expect(userTexts(after.prompts[0])).toEqual(['Go.', `Message of process ${friend}:\n\nUse metres.`]);
  });

  it('brings files by handle, as parts of the SDK', async () => {
    const model = scriptedModel([{ toolCalls: [{ name: 'look' }] }, 'A pixel.']);
    const kernel = await openKernel({
      tools: [simpleTool('look', () => 'seen')],
      images: [agentImage({ name: 'agent', model })],
    });
    const pid = await kernel.processes.spawn({
      image: 'agent',
      goal: 'Go.',
      capabilities: [callModel, callTools],
      held: true,
    });
    const friend = await kernel.processes.spawn({ capabilities: [{ resource: `process:${pid}`, rights: ['send'] }] });
    const picture = await kernel.memory.create(friend, {
      type: 'artifact',
      payload: { mediaType: 'image/png', base64: 'iVBORw0KGgo=' },
    });
    await kernel.as(friend).send(pid, { text: 'What is this?', picture });
    await kernel.processes.resume(pid);
    await kernel.processes.result(pid);
    const [, message] = (model.prompts[0] ?? []).filter(({ role }) => role === 'user');
    expect(message?.content).toMatchObject([
      { type: 'text', text: expect.stringContaining('What is this?') },
      { type: 'file', mediaType: 'image/png', data: expect.anything() },
    ]);
    expect(JSON.stringify(await kernel.processes.journal(pid, { values: 'whole' }))).not.toContain('iVBORw0KGgo=');
  });
});

describe('the end of what an agent has started', () => {
  it('is told before the next turn: of a command in the background, and of a child', async () => {
    let command = '';
    let child = '';
    const model = scriptedModel([
      {
        toolCalls: [
          { name: 'command.run', args: { argv: ['true'], background: true } },
          { name: 'process.spawn', args: { image: 'quick', goal: 'Be quick.' } },
        ],
      },
      async (prompt) => {
        [command = '', child = ''] = toolResults<{ pid: string }>(prompt).map(({ pid }) => pid);
        await kernel.processes.result(command);
        await kernel.processes.result(child);
        return { toolCalls: [{ name: 'clock.now' }] };
      },
      'Done.',
    ]);
    const quick = agentImage({ name: 'quick', model: scriptedModel(['Quick.'], { modelId: 'quick' }) });
    const kernel = await openKernel({ images: [agentImage({ name: 'agent', model }), quick] });
    const pid = await kernel.processes.spawn({
      image: 'agent',
      goal: 'Go.',
      capabilities: [
        callModel,
        callTools,
        { resource: 'command:true', rights: ['call'] },
        { resource: 'fs:**', rights: ['read'] },
      ],
    });
    expect(await kernel.processes.result(pid)).toMatchObject({ value: { text: 'Done.' } });
    const all = userTexts(model.prompts[2]).join('\n');
    expect(all.match(new RegExp(`${command}.*(ended|completed)`, 'g'))).toHaveLength(1);
    expect(all).toMatch(new RegExp(`Your child \\(quick@1\\) ${child} has ended`));
  });
});
