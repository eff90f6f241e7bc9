import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../../src/index.js';
import { type AgentModel, agentImage } from '../../../src/integrations/ai-sdk/index.js';
import { scriptedModel } from '../../../src/testing/index.js';
import { newStore, openKernel } from '../../support/kernel.js';
import { runsInSweep, seeded } from '../../support/seeded.js';
import { findInconsistencies } from '../../support/store-consistency.js';

const capabilities = ['model:**', 'tool:**'].map((resource) => ({ resource, rights: ['call' as const] }));
const tokensMax = 1_600;
const messagesInAll = 50;
const restarts = 3;

type Part = { readonly type: string; readonly text?: string; readonly toolCallId?: string; readonly output?: object };
type Prompt = readonly { readonly role: string; readonly content: string | readonly Part[] }[];

type LeftOut = { readonly reason: string };

/** What a person says: so many words, after which the agent fetches so many more by its tool, or answers at once. */
interface Said {
  readonly words: number;
  readonly fetched: number;
}

const said: fc.Arbitrary<Said> = fc.record({
  words: fc.integer({ min: 1, max: 60 }),
  fetched: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 120 })),
});
const restartsAt = fc.uniqueArray(fc.integer({ min: 1, max: messagesInAll - 1 }), {
  minLength: restarts,
  maxLength: restarts,
});
const compact = fc.constantFrom('summarize', 'drop-tools');

const fetchWords = defineTool({
  name: 'fetch',
  description: 'Fetches words.',
  effect: 'pure',
  input: z.strictObject({ count: z.number() }),
  run: ({ count }) => 'fact '.repeat(count),
});

describe('a conversation of fifty messages and three restarts', () => {
  it('answers each from its history, which is within its limit, and loses neither the goal nor a result of a call', async () => {
    const conversation = fc.record({
      said: fc.array(said, { minLength: messagesInAll, maxLength: messagesInAll }),
      restartsAt,
      compact,
      summaryWords: fc.integer({ min: 1, max: 2_000 }),
    });
    await fc.assert(fc.asyncProperty(conversation, holdConversation), seeded({ numRuns: runsInSweep(10) }));
  }, 900_000);
});

async function holdConversation(given: {
  readonly said: readonly Said[];
  readonly restartsAt: readonly number[];
  readonly compact: 'summarize' | 'drop-tools';
  readonly summaryWords: number;
}): Promise<void> {
  const store = await newStore();
  const prompts: Prompt[] = [];
  const answer = (prompt: Prompt) => {
    const text = lastText(prompt);
    if (text.startsWith('Summarize')) return 'so '.repeat(given.summaryWords);
    prompts.push(prompt);
    const count = Number(/fetch (\d+)/.exec(text)?.[1] ?? 0);
    if (count === 0 || prompt.at(-1)?.role === 'tool') return `To ${text.split('.')[0]}`;
    return { toolCalls: [{ name: 'fetch', args: { count } }] };
  };
  const open = () => {
    const context = { tokensMax, compact: given.compact };
    const image = agentImage({ name: 'chat', model: alwaysAnswering(answer), conversation: true, context });
    return openKernel({ store, tools: [fetchWords], images: [image] });
  };
  let kernel = await open();
  const pid = await kernel.processes.spawn({ image: 'chat', goal: 'The word is xylophone.', capabilities });
  for (const [index, { words, fetched }] of given.said.entries()) {
    const text = `Message ${index}. fetch ${fetched} ${'word '.repeat(words)}`;
    expect((await kernel.agents.say(pid, text, { id: `m${index}` })).text).toBe(`To Message ${index}`);
    if (!given.restartsAt.includes(index)) continue;
    await kernel.shutdown({ graceMs: 0 });
    kernel = await open();
  }
  for (const prompt of prompts) {
    expect(tokensOf(prompt)).toBeLessThanOrEqual(tokensMax);
    expect(JSON.stringify(prompt.find(({ role }) => role === 'user'))).toContain('xylophone');
    expect(idsIn(prompt, 'tool-result')).toEqual(idsIn(prompt, 'tool-call'));
  }
  const asked = 1 + given.said.reduce((sum, { fetched }) => sum + (fetched === 0 ? 1 : 2), 0);
  expect(prompts).toHaveLength(asked);
  const { manifest = [] } = ((await kernel.processes.transcript(pid))?.payload ?? {}) as { manifest?: LeftOut[] };
  const reasons = new Set(manifest.map(({ reason }) => reason));
  const isWhole = prompts.every((prompt) => JSON.stringify(prompt).includes('Message 0.') || prompt === prompts[0]);
  expect(reasons.has(given.compact === 'summarize' ? 'summarized' : 'dropped turn')).toBe(!isWhole);
  await kernel.processes.exit(pid);
  expect(await findInconsistencies(kernel)).toEqual([]);
  await kernel.shutdown();
}

/** A model that does not count its turns by the prompt, from which they are left out. */
function alwaysAnswering(answer: (prompt: Prompt) => string | { toolCalls: object[] }): AgentModel {
  const ask = (call: { readonly prompt: Prompt }, method: 'doGenerate' | 'doStream') => {
    const model = scriptedModel([answer(call.prompt) as never]);
    return (model[method] as (call: object) => Promise<object>)({ ...call, prompt: [] });
  };
  const { specificationVersion, provider, modelId, supportedUrls } = scriptedModel([]);
  return {
    specificationVersion,
    provider,
    modelId,
    supportedUrls,
    doGenerate: (call: never) => ask(call, 'doGenerate'),
    doStream: (call: never) => ask(call, 'doStream'),
  } as object as AgentModel;
}

/** The text of the last message of a user. */
function lastText(prompt: Prompt): string {
  const { content = '' } = prompt.findLast(({ role }) => role === 'user') ?? {};
  return typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('');
}

/** Estimated from above as the agent does: half of the bytes of what is said, called and answered. */
function tokensOf(prompt: Prompt): number {
  const texts = prompt.flatMap(({ content }) => (typeof content === 'string' ? [content] : content.map(textOf)));
  return texts.reduce((sum, text) => sum + Math.ceil(Buffer.byteLength(text) / 2), 0);
}

function textOf(part: Part): string {
  return part.text ?? JSON.stringify(part.output ?? '');
}

function idsIn(prompt: Prompt, type: string): string[] {
  const parts = prompt.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
  return parts.flatMap((part) => (part.type === type ? [part.toolCallId ?? ''] : []));
}
