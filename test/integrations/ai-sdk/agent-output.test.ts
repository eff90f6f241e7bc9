import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { agentImage } from '../../../src/integrations/ai-sdk/index.js';
import { scriptedModel } from '../../../src/testing/index.js';
import { add } from '../../support/integrations/agent-fixture.js';
import { openKernel } from '../../support/kernel.js';

const capabilities = ['model:**', 'tool:**'].map((resource) => ({ resource, rights: ['call' as const] }));
const weather = z.object({ city: z.string(), degrees: z.number() });

describe('an agent with an output schema', () => {
  it('has the last answer as its result, an object of the schema', async () => {
    const model = scriptedModel([
      { toolCalls: [{ name: 'math.add', args: { a: 1, b: 2 } }] },
      '{"city":"Oslo","degrees":3}',
    ]);
    const image = agentImage({ name: 'agent', model, output: weather });
    const kernel = await openKernel({ tools: [add], images: [image] });
    const pid = await kernel.processes.spawn({ image, goal: 'How warm is it?', capabilities });
    const value: { city: string; degrees: number } = await kernel.processes.value(pid);
    expect(value).toEqual({ city: 'Oslo', degrees: 3 });
    const { responseFormat } = model.calls[0] as { responseFormat?: object };
    expect(responseFormat).toMatchObject({ type: 'json', schema: { properties: { city: { type: 'string' } } } });
  });

  it('mends an answer that does not fit in one more turn, and is told the problem', async () => {
    const model = scriptedModel(['It is three degrees.', '```json\n{"city":"Oslo","degrees":3}\n```']);
    const image = agentImage({ name: 'agent', model, output: weather });
    const kernel = await openKernel({ images: [image] });
    const pid = await kernel.processes.spawn({ image, capabilities });
    expect(await kernel.processes.value(pid)).toEqual({ city: 'Oslo', degrees: 3 });
    expect(model.calls).toHaveLength(2);
    expect(JSON.stringify(model.prompts[1])).toContain('it is not JSON');
    expect(model.calls[1]?.tools).toBeUndefined();
    expect((await kernel.processes.get(pid)).used.tokens).toBe(30);
  });

  it('fails with INVALID_OUTPUT where the second answer does not fit either', async () => {
    const model = scriptedModel(['{"city":"Oslo"}', '{"city":"Oslo","degrees":"cold"}']);
    const image = agentImage({ name: 'agent', model, output: weather });
    const kernel = await openKernel({ images: [image] });
    const pid = await kernel.processes.spawn({ image, capabilities });
    expect(await kernel.processes.result(pid)).toMatchObject({
      status: 'failed',
      outcome: { reason: 'INVALID_OUTPUT', evidence: { facts: { answer: '{"city":"Oslo","degrees":"cold"}' } } },
    });
    const transcript = JSON.stringify((await kernel.processes.transcript(pid))?.payload);
    expect(transcript).toContain('cold');
  });

  it('takes JSON Schema too', async () => {
    const model = scriptedModel(['{"n":"one"}', '{"n":1}']);
    const output = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } as const;
    const image = agentImage({ name: 'agent', model, output });
    const kernel = await openKernel({ images: [image] });
    expect(await kernel.processes.value(await kernel.processes.spawn({ image, capabilities }))).toEqual({ n: 1 });
  });
});
