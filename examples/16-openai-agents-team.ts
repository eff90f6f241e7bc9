/* A team of OpenAI Agents: a lead whose researchers and editor are its tools, each a process. ScriptedModel keeps it offline. */
import { Agent, type AgentOutputItem, setTracingDisabled, tool } from '@openai/agents-core';
import { assistantMessage, functionCall, modelResponder, ScriptedModel } from '@openai/agents-core/testing';
import { type CapabilitySpec, createKernel } from 'procura';
import { agentImage, governTools } from 'procura/openai-agents';
import { z } from 'zod';

// The SDK prints its traces otherwise. What happened is on the record of the kernel.
setTracingDisabled(true);
const topics = ['tides', 'winds', 'stars'];
const parameters = z.object({ topic: z.string() });
const search = tool({ name: 'search', description: 'Searches.', parameters, execute: ({ topic }) => `${topic} rise` });
const publish = tool({ name: 'publish', description: 'Publishes.', parameters, execute: () => 'published' });

/** Searches for what it is asked about, and answers with what it found. */
const research = modelResponder(({ request: { input } }): AgentOutputItem[] => {
  const found = typeof input === 'string' ? undefined : input.find(({ type }) => type === 'function_call_result');
  if (found !== undefined && 'output' in found)
    return [assistantMessage(`Found: ${(found.output as { text: string }).text}.`)];
  const topic = topics.find((each) => JSON.stringify(input).includes(each)) ?? '';
  return [functionCall('search', { topic }, { callId: 'search' })];
});
const researcher = new Agent({
  name: 'researcher',
  tools: [search, publish],
  model: new ScriptedModel(topics.flatMap(() => [research, research])),
});
const editor = new Agent({ name: 'editor', model: new ScriptedModel([[assistantMessage('All of it rises.')]]) });
const lead = new Agent({
  name: 'lead',
  tools: [
    researcher.asTool({ toolName: 'ask', toolDescription: 'Asks a researcher.' }),
    editor.asTool({ toolName: 'edit', toolDescription: 'Edits a draft.' }),
    publish,
  ],
  model: new ScriptedModel([
    topics.map((input) => functionCall('ask', { input }, { callId: input })),
    [functionCall('edit', { input: 'what was found' }, { callId: 'edit' })],
    [functionCall('publish', { topic: 'all' }, { callId: 'publish' })],
    [assistantMessage('The report is edited, and I may not publish it.')],
  ]),
});

const kernel = await createKernel();
governTools(kernel, [search, publish], { prefix: 'web', effects: { search: 'pure' } });
const resource = ['model:openai-agents/*', 'tool:web.search'];
const capabilities: CapabilitySpec<string[]>[] = [{ resource, rights: ['call'], delegable: true }];
const image = agentImage({ agent: lead });
const pid = await kernel.processes.spawn({ image, capabilities, budget: { tokens: 50_000 } });
console.log((await kernel.processes.value(pid)).text);
for (const { name, outcome } of await kernel.processes.children(pid)) console.log(`${name}: ${outcome?.kind}`);
for await (const part of kernel.agents.stream(pid)) {
  if (part.type === 'tool-result')
    console.log(`turn ${part.turn}: ${part.tool} ${part.isError ? 'refused' : part.result}`);
}
const [denied] = (await kernel.audit.list({ decision: 'deny' })).items;
console.log(`On record as ${denied?.outcome}: ${denied?.resource}.`);
await kernel.shutdown();
