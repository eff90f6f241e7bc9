import { describe, expect, it } from 'vitest';
import { type AgentSpec, agentImage } from '../../../src/integrations/ai-sdk/index.js';
import { add, callModel, callTools, startAgent } from '../../support/integrations/agent-fixture.js';
import { scriptedModel } from '../../support/integrations/scripted-model.js';
import { openKernel } from '../../support/kernel.js';
import { findInconsistencies } from '../../support/store-consistency.js';

describe('what the turns of an agent cost', () => {
  it('is charged in tokens and money, to all above it', async () => {
    const model = scriptedModel([
      { calls: [['math_add', { a: 1, b: 1 }]], tokens: [100, 20] },
      { text: 'done', tokens: [150, 7] },
    ]);
    const cost: AgentSpec['cost'] = ({ inputTokens, outputTokens }) => inputTokens * 2 + outputTokens * 10;
    const kernel = await openKernel({ tools: [add], images: [agentImage({ name: 'agent', model, cost })] });
    const capabilities = [callModel, callTools].map((spec) => ({ ...spec, delegable: true }));
    const lead = await kernel.processes.spawn({ capabilities, budget: { tokens: 100_000, costMicros: 100_000 } });
    const pid = await kernel.processes.spawnChild(lead, { image: 'agent', delegate: [callModel, callTools] });
    await kernel.processes.result(pid);
    const { tokens, costMicros } = await kernel.processes.budget(lead);
    expect([tokens.used, tokens.reserved, costMicros.used, costMicros.reserved]).toEqual([277, 0, 770, 0]);
  });

  it('stops the turn after the one that used the budget up; what was used is shown as overrun', async () => {
    const model = scriptedModel(() => ({ calls: [['math_add', { a: 1, b: 1 }]], tokens: [400, 200] }));
    const { kernel, pid } = await startAgent({ model }, [add], { budget: { tokens: 1_000 } });
    expect(await kernel.processes.result(pid)).toMatchObject({
      status: 'failed',
      outcome: {
        reason: 'BUDGET_EXCEEDED',
        evidence: { facts: { dimension: 'tokens', process: pid, limit: 1_000, used: 1_200 } },
      },
    });
    expect(model.doGenerateCalls).toHaveLength(2);
    expect((await kernel.processes.budget(pid)).tokens).toMatchObject({
      used: 1_200,
      reserved: 0,
      overrun: 200,
      left: 0,
    });
    expect(await findInconsistencies(kernel)).toEqual([]);
  });

  it('stops the first turn where there is nothing, and ends the process that asked for that', async () => {
    const model = scriptedModel(['never']);
    const { kernel, pid } = await startAgent({ model }, [], { budget: { tokens: 0 }, onBudget: 'cancel' });
    expect(await kernel.processes.result(pid)).toMatchObject({ outcome: { kind: 'budget_exhausted' } });
    const dear = await startAgent({ model, cost: () => 1 }, [], { budget: { costMicros: 0 } });
    expect(await dear.kernel.processes.result(dear.pid)).toMatchObject({ outcome: { reason: 'BUDGET_EXCEEDED' } });
    const free = await startAgent({ model: scriptedModel(['yes']), cost: () => 0 }, [], { budget: { costMicros: 0 } });
    expect(await free.kernel.processes.result(free.pid)).toMatchObject({ value: { text: 'yes' } });
    expect(model.doGenerateCalls).toEqual([]);
  });

  it('is estimated where the provider does not tell', async () => {
    const model = scriptedModel([{ text: 'yes', tokens: [undefined, undefined] }]);
    const { kernel, pid } = await startAgent({ model, maxOutputTokens: 50 });
    await kernel.processes.result(pid);
    expect((await kernel.processes.budget(pid)).tokens.used).toBeGreaterThan(50);
  });

  it('is charged in tokens also where the price cannot be told, and the process fails', async () => {
    const model = scriptedModel([{ text: 'yes', tokens: [100, 20] }]);
    const { kernel, pid } = await startAgent({ model, cost: ({ inputTokens }) => (inputTokens === 100 ? 0.5 : 1) });
    expect(await kernel.processes.result(pid)).toMatchObject({
      status: 'failed',
      outcome: { reason: 'INVALID_INPUT' },
    });
    expect((await kernel.processes.budget(pid)).tokens).toMatchObject({ used: 120, reserved: 0 });
  });
});
