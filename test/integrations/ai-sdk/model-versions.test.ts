import { describe, expect, it } from 'vitest';
import type { AgentModel } from '../../../src/integrations/ai-sdk/index.js';
import { add, startAgent } from '../../support/integrations/agent-fixture.js';
import { MockModel } from '../../support/integrations/mock-model.js';

/** The major version of `ai` that the tests run with. */
const major = Number(process.env.AI_SDK_MAJOR ?? 6);
const supported = { 6: ['v2', 'v3'], 7: ['v2', 'v3', 'v4'] }[major] ?? [];

describe(`models with version ${major} of the AI SDK`, () => {
  it('are mocked by the newest specification of that version', () => {
    expect(new MockModel().specificationVersion).toBe(supported.at(-1));
  });

  it.each(supported)('of specification %s hold a conversation with tools, and are charged', async (version) => {
    const model = modelOf(version, [
      [{ type: 'tool-call', toolCallId: 'call_1', toolName: 'math_add', input: '{"a":1,"b":2}' }],
      [{ type: 'text', text: 'It is 3.' }],
    ]);
    const { kernel, pid } = await startAgent({ model, system: 'You add.' }, [add]);
    expect(await kernel.processes.result(pid)).toMatchObject({
      status: 'exited',
      value: {
        text: 'It is 3.',
        turns: 2,
        usage: { inputTokens: 20, cachedInputTokens: 8, outputTokens: 10, totalTokens: 30 },
      },
    });
    expect((await kernel.processes.get(pid)).used).toMatchObject({ tokens: 30, toolCalls: 1 });
    const [, second] = model.prompts;
    expect(second?.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
    expect(second?.at(-1)?.content).toMatchObject([
      { type: 'tool-result', toolCallId: 'call_1', toolName: 'math_add', output: { type: 'json', value: 3 } },
    ]);
  });

  it.each(supported)('of specification %s are not sent the files that they generated', async (version) => {
    const file = version === 'v4' ? { type: 'data', data: pixels } : pixels;
    const image = { mediaType: 'image/png', data: file };
    const model = modelOf(version, [
      [
        { type: 'file', ...image },
        ...(version === 'v4' ? [{ type: 'reasoning-file', ...image }] : []),
        { type: 'text', text: 'Here it is.' },
        { type: 'tool-call', toolCallId: 'call_1', toolName: 'math_add', input: '{"a":1,"b":2}' },
      ],
      [{ type: 'text', text: 'Done.' }],
    ]);
    const { kernel, pid } = await startAgent({ model }, [add]);
    expect(await kernel.processes.result(pid)).toMatchObject({ value: { text: 'Done.' } });
    const answer = model.prompts[1]?.find(({ role }) => role === 'assistant')?.content as { type: string }[];
    expect(answer.map(({ type }) => type)).toEqual(['text', 'tool-call']);
    expect(JSON.stringify(await kernel.processes.journal(pid))).not.toContain(pixels);
  });

  it('of a specification that it does not support are not asked, and not charged', async () => {
    const model = modelOf('v9', [[{ type: 'text', text: 'never' }]]);
    const { kernel, pid } = await startAgent({ model });
    const { status, outcome } = await kernel.processes.result(pid);
    expect({ status, ...outcome }).toMatchObject({
      status: 'failed',
      reason: 'MODEL_FAILED',
      evidence: {
        message: expect.stringContaining('version'),
        facts: { name: 'AI_UnsupportedModelVersionError', used: { totalTokens: 0 } },
      },
    });
    expect(model.prompts).toEqual([]);
    expect((await kernel.processes.budget(pid)).tokens).toMatchObject({ used: 0, reserved: 0 });
  });
});

const pixels = 'iVBORw0KGgoAAAANSUhEUg==';

interface PromptMessage {
  readonly role: string;
  readonly content: unknown;
}

/** A model of a specification, written by hand: it answers with the contents in turn and keeps the prompts. */
function modelOf(
  version: string,
  contents: readonly (readonly object[])[],
): AgentModel & { prompts: PromptMessage[][] } {
  const prompts: PromptMessage[][] = [];
  const model = {
    specificationVersion: version,
    provider: 'mock.chat',
    modelId: 'scripted',
    supportedUrls: {},
    prompts,
    doGenerate: async ({ prompt }: { prompt: PromptMessage[] }) => {
      prompts.push(prompt);
      const content = contents[prompts.length - 1] ?? [];
      const reason = content.some((part) => 'toolCallId' in part) ? 'tool-calls' : 'stop';
      const finishReason = version === 'v2' ? reason : { unified: reason, raw: undefined };
      return { content, finishReason, usage: usageOf(version), warnings: [] };
    },
  };
  return model as object as AgentModel & { prompts: PromptMessage[][] };
}

function usageOf(version: string): object {
  if (version === 'v2') return { inputTokens: 10, outputTokens: 5, totalTokens: 15, cachedInputTokens: 4 };
  return {
    inputTokens: { total: 10, noCache: 6, cacheRead: 4, cacheWrite: 0 },
    outputTokens: { total: 5, text: 5, reasoning: 0 },
  };
}
