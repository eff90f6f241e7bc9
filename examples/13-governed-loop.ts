/* The same team with loops of one's own: streamText of the AI SDK on models whose turns are those of the process. */
import { stepCountIs, streamText } from 'ai';
import { createKernel, defineImage, defineTool, type Syscalls } from 'procura';
import { type AgentModel, governedModel, toolsFor } from 'procura/ai-sdk';
import { scriptedModel } from 'procura/testing';
import { z } from 'zod';

const topics = ['tides', 'winds', 'stars'];
const search = defineTool({
  name: 'search',
  description: 'Finds facts on a topic.',
  effect: 'pure',
  input: z.object({ topic: z.string() }),
  run: ({ topic }) => `facts on ${topic}`,
});

/** A loop with tools, whose turns are durable, authorized and charged. A rerun replays them, also as a stream. */
async function ask(ctx: Syscalls, model: AgentModel, prompt: string): Promise<string> {
  const result = streamText({
    model: governedModel(ctx, model),
    prompt,
    tools: await toolsFor(ctx, { granted: true }),
    stopWhen: stepCountIs(10),
  });
  let text = '';
  for await (const delta of result.textStream) text += delta;
  return text;
}

const researcher = defineImage({
  name: 'researcher',
  input: z.object({ topic: z.string() }),
  run: (ctx, { topic }) => {
    const script = [{ toolCalls: [{ name: 'search', args: { topic } }] }, `Found facts on ${topic}.`];
    return ask(ctx, scriptedModel(script), `Research ${topic}.`);
  },
});
const editor = defineImage({
  name: 'editor',
  input: z.object({ drafts: z.array(z.string()) }),
  run: (ctx, { drafts }) => ask(ctx, scriptedModel([`Edited: ${drafts.join(' ')}`]), drafts.join('\n')),
});
const callModel = { resource: 'model:scripted/test', rights: ['call' as const] };
const callSearch = { resource: 'tool:search', rights: ['call' as const] };
const lead = defineImage({
  name: 'lead',
  run: async (ctx) => {
    const delegate = [callModel, callSearch];
    const drafts = await Promise.all(topics.map((topic) => ctx.call(researcher, { topic }, { delegate })));
    return ctx.call(editor, { drafts }, { delegate: [callModel] });
  },
});

const kernel = await createKernel({ tools: [search], images: [lead, researcher, editor] });
const capabilities = [callModel, callSearch].map((capability) => ({ ...capability, delegable: true }));
const pid = await kernel.processes.spawn({ image: lead, capabilities, budget: { tokens: 50_000 } });
console.log(await kernel.processes.value(pid));
const [first] = await kernel.processes.children(pid);
for await (const part of kernel.agents.stream(first?.pid ?? '')) console.log(`turn ${part.turn}: ${part.type}`);
console.log(`${(await kernel.processes.budget(pid)).tokens.used} tokens in all.`);
await kernel.shutdown();
