/* A team of OpenAI Agents: a lead whose researchers are its tools, each a process. ScriptedModel keeps it offline. */
import { Agent, type AgentOutputItem, tool } from '@openai/agents-core';
import { assistantMessage, functionCall, modelResponder, ScriptedModel } from '@openai/agents-core/testing';
import { type CapabilitySpec, createKernel } from 'procura';
import { agentImage, governTools } from 'procura/openai-agents';
import { z } from 'zod';

const parameters = z.object({ topic: z.string() });
const search = tool({ name: 'search', description: 'Searches.', parameters, execute: ({ topic }) => `${topic} rise` });
const publish = tool({ name: 'publish', description: 'Publishes.', parameters, execute: () => 'published' });

/** Searches for what it is asked about, and answers with what it found. */
const research = modelResponder(({ request: { input } }): AgentOutputItem[] => {
  const found = typeof input === 'string' ? undefined : input.find(({ type }) => type === 'function_call_result');
  if (found !== undefined && 'output' in found) return [assistantMessage(`Found: ${JSON.stringify(found.output)}.`)];
  const topic = JSON.stringify(input).includes('tides') ? 'tides' : 'winds';
  return [functionCall('search', { topic }, { callId: 'search' })];
});
const researcher = new Agent({
  name: 'researcher',
  tools: [search, publish],
  model: new ScriptedModel([research, research, research, research]),
});
const asked = ['tides', 'winds'].map((input) => functionCall('ask', { input }, { callId: input }));
const lead = new Agent({
  name: 'lead',
  tools: [researcher.asTool({ toolName: 'ask', toolDescription: 'Asks a researcher.' }), publish],
  model: new ScriptedModel([
    asked,
    [functionCall('publish', { topic: 'tides and winds' }, { callId: 'publish' })],
    [assistantMessage('I know of tides and winds, and may not publish.')],
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
const [denied] = (await kernel.audit.list({ decision: 'deny' })).items;
console.log(`On record as ${denied?.outcome}: ${denied?.resource}.`);
await kernel.shutdown();
