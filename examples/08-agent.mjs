/* An agent whose model is scripted, so that it runs offline: openai('gpt-5') and the like can take its place. */
import { MockLanguageModelV3 } from 'ai/test';
import { createKernel, defineTool } from 'procura';
import { agentImage, modelResource } from 'procura/ai-sdk';

const published = [];
const tool = (name, run) => defineTool({ name, description: `May ${name}.`, effect: 'once', input: {}, run });
const tools = [tool('count', () => ({ lines: 3 })), tool('publish', () => published.push('all'))];

const call = (toolName) => ({ type: 'tool-call', toolCallId: toolName, toolName, input: '{}' });
const script = [call('count'), call('publish'), { type: 'text', text: 'I counted, and may not publish.' }];
const usage = { inputTokens: { total: 90 }, outputTokens: { total: 10 } };
const doGenerate = async ({ prompt }) => {
  const { value } = prompt.at(-1).content[0].output ?? {};
  if (value?.lines) console.log(`The model reads: ${value.lines} lines`);
  if (value?.error) console.log(`The model reads: ${value.error.code}, missing ${value.error.missing.resource}`);
  const unified = script.length > 1 ? 'tool-calls' : 'stop';
  return { content: [script.shift()], finishReason: { unified }, usage, warnings: [] };
};
const model = new MockLanguageModelV3({ provider: 'scripted', modelId: 'demo', doGenerate });

const kernel = await createKernel({ tools, images: [agentImage({ name: 'clerk', model })] });
const capabilities = [modelResource(model), 'tool:count'].map((resource) => ({ resource, rights: ['call'] }));
const budget = { tokens: 1000 };
const pid = await kernel.processes.spawn({ image: 'clerk', goal: 'Count, then publish.', capabilities, budget });
const { value } = await kernel.processes.result(pid);
console.log(`It ended after ${value.turns} turns: ${value.text}`);
const { tokens, toolCalls } = await kernel.processes.budget(pid);
console.log(`${tokens.used} of ${tokens.limit} tokens, ${toolCalls.used} call, ${published.length} published.`);
const [denied] = (await kernel.audit.list({ decision: 'deny' })).items;
console.log(`On record: ${denied.outcome}, ${denied.resource}, ${denied.actor === pid ? 'the agent' : denied.actor}.`);
await kernel.shutdown();
