import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool, type KernelOptions } from '../../../src/index.js';
import { type AgentSpec, agentImage } from '../../../src/integrations/ai-sdk/index.js';
import { eventually } from '../../support/eventually.js';
import { gate } from '../../support/gate.js';
import { callModel, callTools } from '../../support/integrations/agent-fixture.js';
import { type ScriptedTurn, scriptedModel, toolResultsIn } from '../../support/integrations/scripted-model.js';
import { newStore, openKernel } from '../../support/kernel.js';
import { findInconsistencies } from '../../support/store-consistency.js';

describe('an agent whose kernel is closed', () => {
  it('goes on where it was: no turn is asked again, no call is made again, nothing is paid again', async () => {
    const store = await newStore();
    const { opened, open } = gate();
    const done: string[] = [];
    const note = defineTool({
      name: 'note',
      description: 'Writes something down.',
      effect: 'once',
      input: z.strictObject({ text: z.string() }),
      run: async ({ text }: { text: string }) => {
        done.push(text);
        if (text === 'slow') await opened;
        return text;
      },
    });
    const script: ScriptedTurn[] = [
      { calls: [['note', { text: 'first' }]] },
      {
        calls: [
          ['note', { text: 'second' }],
          ['note', { text: 'slow' }],
        ],
      },
    ];
    const before = scriptedModel(script);
    const options = (model: AgentSpec['model']): KernelOptions => ({
      store,
      tools: [note],
      images: [agentImage({ name: 'agent', model })],
    });
    const kernel = await openKernel(options(before));
    const pid = await kernel.processes.spawn({ image: 'agent', capabilities: [callModel, callTools] });
    await eventually(() => expect(done).toEqual(['first', 'second', 'slow']));
    await eventually(async () => expect((await kernel.processes.budget(pid)).toolCalls.used).toBe(2));
    await kernel.shutdown({ graceMs: 0 });

    const after = scriptedModel((asked) => JSON.stringify(toolResultsIn(asked)));
    const again = await openKernel(options(after));
    const { value } = await again.processes.result(pid);
    open();
    expect(value).toMatchObject({ turns: 3, usage: { totalTokens: 45 } });
    expect(JSON.parse((value as { text: string }).text)).toMatchObject([
      'second',
      { error: { code: 'OUTCOME_UNKNOWN' } },
    ]);
    expect([before.doGenerateCalls.length, after.doGenerateCalls.length]).toEqual([2, 1]);
    expect(done).toEqual(['first', 'second', 'slow']);
    expect((await again.processes.get(pid)).used).toMatchObject({ tokens: 45 });
    expect(await findInconsistencies(again)).toEqual([]);
  });

  it('asks again the turn that was under way, since nobody has heard its answer', async () => {
    const store = await newStore();
    const asked: string[] = [];
    const model = (name: string, said: () => Promise<ScriptedTurn>) =>
      scriptedModel(async (question) => {
        asked.push(name);
        question.abortSignal?.addEventListener('abort', () => asked.push(`${name} given up`));
        return said();
      });
    const image = (of: AgentSpec['model']) => agentImage({ name: 'agent', model: of });
    const kernel = await openKernel({ store, images: [image(model('first', () => new Promise(() => undefined)))] });
    const pid = await kernel.processes.spawn({ image: 'agent', capabilities: [callModel] });
    await eventually(() => expect(asked).toEqual(['first']));
    await kernel.shutdown({ graceMs: 50 });
    const again = await openKernel({ store, images: [image(model('second', async () => 'here I am'))] });
    expect(await again.processes.result(pid)).toMatchObject({ value: { text: 'here I am', turns: 1 } });
    expect(asked.slice(0, 3)).toEqual(['first', 'first given up', 'second']);
    expect((await again.processes.get(pid)).used).toMatchObject({ tokens: 15 });
  });
});
