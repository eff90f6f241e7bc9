/* A team: a lead that starts three researchers and then an editor, with the kernel's own tools. Their models follow scripts. */
import { createKernel, defineTool } from 'procura';
import { agentImage } from 'procura/ai-sdk';
import { type PromptMessage, scriptedModel } from 'procura/testing';
import { z } from 'zod';

const topics = ['tides', 'winds', 'stars'];
const search = defineTool({
  name: 'search',
  description: 'Finds facts on a topic.',
  effect: 'pure',
  input: z.object({ topic: z.string() }),
  run: ({ topic }) => `facts on ${topic}`,
});

// Each of them can do only what it is handed: the researchers may search, and nobody else may.
const callModel = { resource: 'model:scripted/**', rights: ['call' as const] };
const callSearch = { resource: 'tool:search', rights: ['call' as const] };
const callTools = ['spawn', 'wait'].map((name) => ({ resource: `tool:process.${name}`, rights: ['call' as const] }));
const lead = agentImage({
  name: 'lead',
  system: 'You have others do the work.',
  model: scriptedModel([
    { toolCalls: topics.map((goal) => start('researcher', goal, [callModel, callSearch])) },
    (prompt) => ({
      toolCalls: results<{ pid: string }>(prompt).map(({ pid }) => ({ name: 'process.wait', args: { pid } })),
    }),
    (prompt) => ({ toolCalls: [start('editor', reports(prompt).join('; '), [callModel])] }),
    (prompt) => ({ toolCalls: [{ name: 'process.wait', args: results<{ pid: string }>(prompt)[0] }] }),
    (prompt) => reports(prompt).join(),
  ]),
});
const researcher = agentImage({
  name: 'researcher',
  model: scriptedModel(topics.flatMap(() => [investigate, investigate])),
});
const editor = agentImage({
  name: 'editor',
  model: scriptedModel([(prompt) => `Edited: ${textOf(prompt[0])}.`]),
});

const kernel = await createKernel({ tools: [search], images: [lead, researcher, editor] });
const pid = await kernel.processes.spawn({
  image: lead,
  goal: 'Write a report.',
  capabilities: [callModel, callSearch, ...callTools].map((capability) => ({ ...capability, delegable: true })),
  budget: { tokens: 50_000, children: 5 },
});
const { text, turns } = await kernel.processes.value(pid);
console.log(text);
console.log(`${turns} turns of the lead, ${(await kernel.processes.budget(pid)).tokens.used} tokens in all.`);
for (const child of await kernel.processes.children(pid)) console.log(`${child.image}: ${child.outcome?.kind}`);
await kernel.shutdown();

/** The turns of a researcher: it searches, then tells what it has found. */
function investigate(prompt: readonly PromptMessage[]) {
  const [found] = results<string>(prompt);
  return found === undefined ? { toolCalls: [{ name: 'search', args: { topic: textOf(prompt[0]) } }] } : found;
}

function start(image: string, goal: string, delegate: object[]) {
  return { name: 'process.spawn', args: { image, goal, delegate } };
}

/** The results of the last calls of tools. */
function results<T>(prompt: readonly PromptMessage[]): T[] {
  const { content = [] } = prompt.findLast(({ role }) => role === 'tool') ?? {};
  return typeof content === 'string' ? [] : content.map(({ output }) => (output as { value: T }).value);
}

function reports(prompt: readonly PromptMessage[]): string[] {
  return results<{ value: { text: string } }>(prompt).map(({ value }) => value.text);
}

function textOf(message: PromptMessage | undefined): string {
  const { content = [] } = message ?? {};
  return typeof content === 'string' ? content : (content[0]?.text ?? '');
}
