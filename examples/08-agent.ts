/* An agent whose model follows a script, so that it runs offline. openai('gpt-5') and the like can take its place. */
import { createKernel, defineTool } from 'procura';
import { agentImage, modelResource } from 'procura/ai-sdk';
import { scriptedModel } from 'procura/testing';
import { z } from 'zod';

const input = z.object({});
const count = defineTool({ name: 'count', description: 'Counts.', effect: 'pure', input, run: () => ({ lines: 3 }) });
const publish = defineTool({ name: 'publish', description: 'Publishes.', effect: 'once', input, run: () => 'done' });

const model = scriptedModel([
  { toolCalls: [{ name: 'count', args: {} }] },
  { toolCalls: [{ name: 'publish', args: {} }] },
  'I counted, and may not publish.',
]);
const clerk = agentImage({ name: 'clerk', model });

const kernel = await createKernel({ tools: [count, publish] });
const pid = await kernel.processes.spawn({
  image: clerk,
  goal: 'Count the lines, then publish.',
  capabilities: [
    { resource: modelResource(model), rights: ['call'] },
    { resource: 'tool:count', rights: ['call'] },
  ],
  budget: { tokens: 1_000 },
});
const { text, turns } = await kernel.processes.value(pid);
console.log(`The model was called ${model.calls.length} times.`);
console.log(`It ended after ${turns} turns: ${text}`);

const { tokens, toolCalls } = await kernel.processes.budget(pid);
console.log(`It used ${tokens.used} of ${tokens.limit} tokens, and made ${toolCalls.used} tool call.`);
const [denied] = (await kernel.audit.list({ decision: 'deny' })).items;
console.log(`On record as ${denied?.outcome}: ${denied?.resource}.`);
await kernel.shutdown();
