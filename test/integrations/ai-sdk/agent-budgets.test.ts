import { describe, expect, it } from 'vitest';
import { agentImage } from '../../../src/integrations/ai-sdk/index.js';
import { scriptedModel } from '../../../src/testing/index.js';
import { add } from '../../support/integrations/agent-fixture.js';
import { openKernel } from '../../support/kernel.js';
import { findInconsistencies } from '../../support/store-consistency.js';

const capabilities = ['model:**', 'tool:math.add'].map((resource) => ({ resource, rights: ['call' as const] }));
const adding = (text: string, outputTokens: number) => ({
  text,
  toolCalls: [{ name: 'math.add', args: { a: 1, b: 1 } }],
  usage: { inputTokens: 20, outputTokens },
});

describe('an agent that runs out of its budget', () => {
  it.each([
    ['fails', 'refuse', { kind: 'failed', reason: 'BUDGET_EXCEEDED' }],
    ['is ended where it asks for that', 'cancel', { kind: 'budget_exhausted' }],
  ] as const)('%s, and shows what it has said', async (_, onBudget, outcome) => {
    const model = scriptedModel([adding('First.', 300), adding('Second.', 300), 'never']);
    const image = agentImage({ name: 'agent', model });
    const kernel = await openKernel({ tools: [add], images: [image] });
    const pid = await kernel.processes.spawn({ image, goal: 'Go.', capabilities, budget: { tokens: 640 }, onBudget });
    const result = await kernel.processes.result(pid);
    expect(result.outcome).toMatchObject({ ...outcome, evidence: { partial: 'First.\n\nSecond.', turns: 3 } });
    expect(model.calls).toHaveLength(2);
    expect((await kernel.processes.budget(pid)).tokens).toMatchObject({ used: 640, reserved: 0, overrun: 0 });
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('never passes the limit by answers that keep to what they were allowed', async () => {
    // The longest answer that each call allows, and the input as it was estimated.
    const greedy =
      () =>
      (_prompt: unknown, { maxOutputTokens = 0 }: { maxOutputTokens?: number }) => ({
        ...adding('More.', maxOutputTokens),
      });
    const model = scriptedModel(Array.from({ length: 50 }, greedy));
    const image = agentImage({ name: 'agent', model, maxTurns: 50 });
    const kernel = await openKernel({ tools: [add], images: [image] });
    const pid = await kernel.processes.spawn({ image, goal: 'Go on.', capabilities, budget: { tokens: 30_000 } });
    expect(await kernel.processes.result(pid)).toMatchObject({ outcome: { reason: 'BUDGET_EXCEEDED' } });
    const { used, overrun, reserved } = (await kernel.processes.budget(pid)).tokens;
    expect({ overrun, reserved }).toEqual({ overrun: 0, reserved: 0 });
    expect(used).toBeGreaterThan(28_000);
    expect(used).toBeLessThanOrEqual(30_000);
  });

  it('is charged what a provider reports beyond, and is refused the next turn', async () => {
    const model = scriptedModel([adding('Too much.', 5_000), 'never']);
    const image = agentImage({ name: 'agent', model });
    const kernel = await openKernel({ tools: [add], images: [image] });
    const pid = await kernel.processes.spawn({ image, goal: 'Go.', capabilities, budget: { tokens: 1_000 } });
    expect(await kernel.processes.result(pid)).toMatchObject({ outcome: { reason: 'BUDGET_EXCEEDED' } });
    expect(model.calls).toHaveLength(1);
    expect((await kernel.processes.budget(pid)).tokens).toMatchObject({ used: 5_020, overrun: 4_020 });
  });

  it('does not repeat an attempt that the budget has no room for', async () => {
    const busy = { error: Object.assign(new Error('cut off'), { isRetryable: true }) };
    const model = scriptedModel([busy, 'never']);
    const image = agentImage({ name: 'agent', model, maxOutputTokens: 400, retry: { attempts: 3, baseMs: 1 } });
    const kernel = await openKernel({ images: [image] });
    const pid = await kernel.processes.spawn({ image, goal: 'Go.', capabilities, budget: { tokens: 900 } });
    expect(await kernel.processes.result(pid)).toMatchObject({ outcome: { reason: 'MODEL_FAILED' } });
    expect(model.calls).toHaveLength(1);
    expect((await kernel.processes.budget(pid)).tokens.overrun).toBe(0);
  });
});
