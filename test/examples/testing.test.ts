import { describe, expect, it } from 'vitest';
import { defineImage, defineSteps, defineTool } from '../../src/index.js';
import { agentImage, modelResource } from '../../src/integrations/ai-sdk/index.js';
import {
  createTestKernel,
  expectAllowed,
  expectDenied,
  historyOf,
  replay,
  scriptedModel,
} from '../../src/testing/index.js';
import { refusal } from '../support/kernel.js';

const hour = 3_600_000;
const day = 24 * hour;

/** The images of the examples, tested as their users would test them. */
describe('durable steps', () => {
  const report = (last: string) =>
    defineSteps({
      name: 'report',
      steps: [
        { name: 'collect', run: () => ['tides rise', 'tides fall'] },
        { name: 'wait', run: (ctx, sources) => ctx.sleep(day).then(() => sources) },
        { name: last, run: (_ctx, sources) => `${(sources as string[]).join(', ')}.` },
      ],
    });

  it('go on after a day', async () => {
    await using kernel = await createTestKernel({ images: [report('write')] });
    const pid = await kernel.processes.spawn({ image: 'report' });
    await kernel.clock.advance(day - 1);
    expect((await kernel.processes.get(pid)).status).toBe('waiting');
    await kernel.clock.advance(1);
    expect(await kernel.processes.result(pid)).toMatchObject({ value: 'tides rise, tides fall.' });
  });

  it('do not go on when their deadline was before that', async () => {
    await using kernel = await createTestKernel({ images: [report('write')] });
    const pid = await kernel.processes.spawn({ image: 'report', deadlineMs: hour });
    await kernel.clock.advance(day);
    expect(await kernel.processes.result(pid)).toMatchObject({ outcome: { kind: 'timed_out' } });
  });

  it('cannot be renamed while processes are under way', async () => {
    await using kernel = await createTestKernel({ images: [report('write')] });
    const pid = await kernel.processes.spawn({ image: 'report' });
    await kernel.clock.advance(day);
    const history = await historyOf(kernel, pid);
    expect(await replay(history, report('write'))).toMatchObject({ ok: true, calls: 3, isComplete: true });
    expect(await refusal(replay(history, report('publish')))).toMatchObject({
      code: 'NON_DETERMINISTIC',
      facts: { expected: 'step write #1', found: 'step publish #1', position: 2 },
    });
  });
});

describe('an agent that may count and not publish', () => {
  const published: string[] = [];
  const tools = [
    defineTool({ name: 'count', description: 'Counts.', effect: 'pure', input: {}, run: () => ({ lines: 3 }) }),
    defineTool({
      name: 'publish',
      description: 'Publishes.',
      effect: 'once',
      input: {},
      run: () => published.push('all'),
    }),
  ];

  it('is told so, and goes on', async () => {
    const model = scriptedModel(
      [{ toolCalls: [{ name: 'count' }] }, { toolCalls: [{ name: 'publish' }] }, 'I counted, and may not publish.'],
      { usage: { inputTokens: 90, outputTokens: 10 } },
    );
    await using kernel = await createTestKernel({ tools, images: [agentImage({ name: 'clerk', model })] });
    const capabilities = [modelResource(model), 'tool:count'].map((resource) => ({
      resource,
      rights: ['call'] as const,
    }));
    const pid = await kernel.processes.spawn({ image: 'clerk', goal: 'Count, then publish.', capabilities });
    await expectAllowed(kernel, pid, 'call', 'tool:count');
    expect(await expectDenied(kernel, pid, 'call', 'tool:publish')).toMatchObject({ code: 'NO_CAPABILITY' });
    const { value, usage } = await kernel.processes.result(pid);
    expect(value).toMatchObject({ text: 'I counted, and may not publish.', turns: 3 });
    expect(usage.tokens).toBe(300);
    expect(published).toEqual([]);
    expect(JSON.stringify(model.prompts[2]?.at(-1))).toContain('CAPABILITY_DENIED');
  });
});

describe('a body that waits for an answer for a day', () => {
  it('goes another way when nobody answers', async () => {
    const image = defineImage({
      name: 'payer',
      run: (ctx) =>
        ctx.receive({ timeoutMs: day }).then(
          () => 'answered',
          () => 'nobody answered',
        ),
    });
    await using kernel = await createTestKernel({ images: [image] });
    const pid = await kernel.processes.spawn({ image: 'payer' });
    await kernel.clock.advance(day);
    expect(await kernel.processes.result(pid)).toMatchObject({ value: 'nobody answered' });
  });
});
