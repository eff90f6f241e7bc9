import { Agent, type ModelProvider, Runner } from '@openai/agents-core';
import { assistantMessage, modelError, ScriptedModel } from '@openai/agents-core/testing';
import { describe, expect, it } from 'vitest';
import {
  type CapabilitySpec,
  defineImage,
  type Kernel,
  type Pid,
  type SpawnSpec,
  type Syscalls,
} from '../../../src/index.js';
import { durableModel } from '../../../src/integrations/openai-agents/index.js';
import { scriptedAgentsModel } from '../../support/integrations/scripted-agents-model.js';
import { openKernel } from '../../support/kernel.js';

const callModel: CapabilitySpec = { resource: 'model:openai-agents/**', rights: ['call'] };

async function runBody(
  run: (ctx: Syscalls) => Promise<unknown>,
  spec: SpawnSpec = {},
  attempts = 1,
): Promise<{ kernel: Kernel; pid: Pid; outcome: unknown; value: unknown }> {
  const image = defineImage({ name: 'asker', retry: { attempts, baseMs: 1 }, run: run as never });
  const kernel = await openKernel({ images: [image] });
  const pid = await kernel.processes.spawn({ image: 'asker', capabilities: [callModel], ...spec });
  const { outcome, value } = await kernel.processes.result(pid);
  return { kernel, pid, outcome, value };
}

async function ask(ctx: Syscalls, model: ScriptedModel | string, options = {}): Promise<string | undefined> {
  const agent = new Agent({ name: 'writer', model: durableModel(ctx, model, options) });
  return (await new Runner().run(agent, 'go', { signal: ctx.signal })).finalOutput;
}

describe('a durable model of the OpenAI Agents SDK', () => {
  it('is asked once for each turn, however often the body is run, and is charged once', async () => {
    const model = scriptedAgentsModel(['hello']);
    const { kernel, pid, value } = await runBody(
      async (ctx) => {
        const answer = await ask(ctx, model);
        if (ctx.attempt === 1) throw new Error('again');
        return answer;
      },
      {},
      2,
    );
    expect(value).toBe('hello');
    expect(model.calls).toHaveLength(1);
    expect((await kernel.processes.budget(pid)).tokens.used).toBe(15);
  });

  it('gives its stored response as a stream', async () => {
    const model = scriptedAgentsModel(['hello']);
    const { value } = await runBody(
      async (ctx) => {
        const agent = new Agent({ name: 'writer', model: durableModel(ctx, model) });
        const stream = await new Runner().run(agent, 'go', { stream: true });
        let text = '';
        for await (const part of stream.toTextStream()) text += part;
        if (ctx.attempt === 1) throw new Error('again');
        return [text, stream.finalOutput];
      },
      {},
      2,
    );
    expect(value).toEqual(['hello', 'hello']);
    expect(model.calls.map(({ streamed }) => streamed)).toEqual([false]);
  });

  it('needs the right to call it, by its name', async () => {
    const model = scriptedAgentsModel(['hello']);
    const named: CapabilitySpec = { resource: 'model:openai-agents/small', rights: ['call'] };
    const allowed = await runBody(async (ctx) => ask(ctx, model, { name: 'small' }), { capabilities: [named] });
    expect(allowed.value).toBe('hello');
    const refused = await runBody(async (ctx) => ask(ctx, model, { name: 'large' }), { capabilities: [named] });
    expect(refused.outcome).toMatchObject({ kind: 'failed', reason: 'CAPABILITY_DENIED' });
    expect(model.calls).toHaveLength(1);
  });

  it('is looked up by its name at the provider', async () => {
    const model = scriptedAgentsModel(['hello']);
    const modelProvider: ModelProvider = {
      getModel: (name) => (name === 'gpt-small' ? model : scriptedAgentsModel([])),
    };
    const named: CapabilitySpec = { resource: 'model:openai-agents/gpt-small', rights: ['call'] };
    const { value } = await runBody(async (ctx) => ask(ctx, 'gpt-small', { modelProvider }), { capabilities: [named] });
    expect(value).toBe('hello');
  });

  it('is not asked when the budget leaves nothing for an answer, and is told how long its answer may be', async () => {
    const model = scriptedAgentsModel(['hello']);
    const poor = await runBody(async (ctx) => ask(ctx, model), { budget: { tokens: 10 } });
    expect(poor.outcome).toMatchObject({ kind: 'failed', reason: 'BUDGET_EXCEEDED' });
    expect(model.calls).toEqual([]);
    const richer = await runBody(async (ctx) => ask(ctx, model), { budget: { tokens: 300 } });
    expect(richer.value).toBe('hello');
    expect(model.firstCall?.request.modelSettings.maxTokens).toBeLessThan(300);
  });

  it('is asked again after a failure that passes, and not after another', async () => {
    const overloaded = Object.assign(new Error('overloaded'), { status: 503 });
    const retry = { attempts: 3, baseMs: 1 };
    const model = new ScriptedModel([modelError(overloaded), [assistantMessage('hello')]]);
    const { value } = await runBody(async (ctx) => ask(ctx, model, { retry }));
    expect(value).toBe('hello');
    const rejected = Object.assign(new Error('no such key sk-abcdefghijkl'), { status: 401 });
    const failing = new ScriptedModel([modelError(rejected)]);
    const { outcome } = await runBody(async (ctx) => ask(ctx, failing, { retry }));
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'MODEL_FAILED' });
    expect(JSON.stringify(outcome)).not.toContain('abcdefghijkl');
    expect(failing.calls).toHaveLength(1);
  });

  it('is charged an estimate for usage that its provider does not report, or reports as no number', async () => {
    const odd = { inputTokens: Number.NaN, outputTokens: -5, totalTokens: 'many', inputTokensDetails: null };
    for (const usage of [undefined, null, 'none', {}, odd]) {
      const model = scriptedAgentsModel(['hello']);
      const asked = model.getResponse.bind(model);
      model.getResponse = async (request) => ({ ...(await asked(request)), usage: usage as never });
      const { kernel, pid, value } = await runBody((ctx) => ask(ctx, model));
      expect(value).toBe('hello');
      expect((await kernel.processes.budget(pid)).tokens.used).toBeGreaterThan(10);
      expect(model.calls).toHaveLength(1);
    }
  });

  it('is refused where it is no model', async () => {
    const { outcome } = await runBody(async (ctx) => durableModel(ctx, {} as never));
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'INVALID_INPUT' });
  });
});
